import type { Session } from "@/api/types";
import { Badge, type Tone } from "@/ui/badge";

const STATES: Record<Session["status"], [tone: Tone, sign: string, text: string]> = {
  idle: ["quiet", "○", "idle"],
  queued: ["quiet", "…", "queued"],
  running: ["accent", "◐", "running"],
  waiting: ["warn", "‖", "needs you"],
  stopped: ["quiet", "⊘", "stopped"],
};

export function SessionBadge({ status }: { status: Session["status"] }) {
  const [tone, sign, text] = STATES[status];
  return (
    <Badge tone={tone}>
      <span aria-hidden="true">{sign}</span>
      {text}
    </Badge>
  );
}
