import type { Connection, Source } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { authState } from "./auth";

export function SourceStatus({ source }: { source: Source }) {
  if (source.status === "connected") return <Badge tone="ok">✓ connected</Badge>;
  return (
    <Badge tone="bad" title={visible(source.error ?? "")}>
      ✕ failing
    </Badge>
  );
}

export function AuthBadge({ source, known }: { source: Source; known: Connection[] }) {
  const state = authState(source, known);
  return state ? <Badge tone={state.tone}>{state.text}</Badge> : null;
}
