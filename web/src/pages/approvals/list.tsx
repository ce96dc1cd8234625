import { Link } from "@tanstack/react-router";
import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, EffectBadge, type Tone } from "@/ui/badge";
import { Ago } from "@/ui/time";

const TONES: Record<string, Tone> = { pending: "warn", approved: "ok", denied: "bad" };
const KINDS: Record<string, string> = {
  credential: "needs a credential",
  oauth: "needs a sign-in",
  unknown_outcome: "unknown outcome",
};

export function List({
  items,
  current,
  show,
}: {
  items: Interaction[];
  current: string | undefined;
  show: string | undefined;
}) {
  return (
    <ul aria-label="Questions" className="card divide-y divide-line overflow-hidden">
      {items.map((one) => (
        <li key={one.id}>
          <Link
            to="/approvals/$id"
            params={{ id: one.id }}
            search={{ show }}
            aria-current={one.id === current ? "true" : undefined}
            className="block px-4 py-2.5 outline-offset-[-2px] hover:bg-raised aria-[current=true]:bg-accent-soft"
          >
            <span className="block truncate font-medium font-mono text-sm">{visible(one.tool)}</span>
            <span className="mt-1 flex flex-wrap items-center gap-1.5 text-dim text-xs">
              <EffectBadge effect={one.effect} />
              {one.status !== "pending" && <Badge tone={TONES[one.status]}>{one.status}</Badge>}
              {KINDS[one.kind] && <Badge tone="accent">{KINDS[one.kind]}</Badge>}
              <span className="truncate">{visible(one.actor ?? "")}</span>
              <span className="ml-auto">
                <Ago at={one.createdAt} />
              </span>
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
