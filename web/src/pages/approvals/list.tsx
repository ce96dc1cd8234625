import { Link } from "@tanstack/react-router";
import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, EffectBadge, type Tone } from "@/ui/badge";
import { Ago } from "@/ui/time";
import { type Group, gist, grouped, isPlain } from "./gist";
import type { Wanted } from "./queries";

// Colour is never alone: each outcome has a sign of its own.
export const OUTCOMES: Record<string, [Tone, string]> = {
  pending: ["warn", "‖ waiting"],
  approved: ["ok", "✓ allowed"],
  denied: ["bad", "✕ denied"],
  expired: ["quiet", "⊘ expired"],
  cancelled: ["quiet", "⊘ cancelled"],
  superseded: ["quiet", "↻ replaced"],
};
export const KINDS: Record<string, string> = {
  credential: "needs a credential",
  oauth: "needs a sign-in",
  unknown_outcome: "unknown outcome",
  elicitation: "needs input",
};
const ANSWERED: Record<string, [Tone, string]> = { approved: ["ok", "✓ answered"], denied: ["bad", "✕ declined"] };

export function outcomeOf({ kind, status }: { kind: string; status: string }): [Tone, string] {
  return (kind === "elicitation" && ANSWERED[status]) || (OUTCOMES[status] ?? ["quiet", status]);
}

type Props = { items: Interaction[]; current: string | undefined; wanted: Wanted };

export function List({ items, current, wanted }: Props) {
  return (
    <ul aria-label="Requests" className="card divide-y divide-line overflow-hidden">
      {grouped(items).map((group) =>
        group.items.length > 1 ? (
          <Alike key={group.key} group={group} current={current} wanted={wanted} />
        ) : (
          group.items.map((one) => <Single key={one.id} one={one} current={current} wanted={wanted} />)
        ),
      )}
    </ul>
  );
}

const ROW = "block outline-offset-[-2px] hover:bg-raised aria-[current]:bg-accent-soft";

type RowProps = { one: Interaction; current: string | undefined; wanted: Wanted };

function Single({ one, current, wanted }: RowProps) {
  return (
    <li>
      <Link
        to="/approvals/$id"
        params={{ id: one.id }}
        search={wanted}
        data-approval={one.id}
        aria-current={one.id === current ? "true" : undefined}
        className={`${ROW} px-4 py-2.5`}
      >
        <span className="block truncate font-medium font-mono text-sm">{visible(one.tool)}</span>
        <span className="block truncate text-dim text-xs">{gist(one)}</span>
        <Signs one={one} />
      </Link>
    </li>
  );
}

/** Several of one actor about one tool: what they share is above, what distinguishes them is in each row. */
function Alike({ group, current, wanted }: { group: Group; current: string | undefined; wanted: Wanted }) {
  const [first] = group.items;
  if (!first) return null;
  return (
    <li className="pt-2.5">
      <div className="px-4 pb-1">
        <span className="flex items-baseline gap-2">
          <span className="min-w-0 truncate font-medium font-mono text-sm">{visible(first.tool)}</span>
          <span className="shrink-0 text-dim text-xs">× {group.items.length}</span>
          {first.status === "pending" && isPlain(first) && (
            <Link
              to="/approvals/$id"
              params={{ id: first.id }}
              search={{ ...wanted, like: "all" }}
              className="ml-auto shrink-0 whitespace-nowrap text-accent text-xs underline"
            >
              Review all {group.items.length}
            </Link>
          )}
        </span>
        <Signs one={first} timeless />
      </div>
      <ul aria-label={`${visible(first.tool)}, asked ${group.items.length} times`} className="pb-1">
        {group.items.map((one) => (
          <li key={one.id}>
            <Link
              to="/approvals/$id"
              params={{ id: one.id }}
              search={wanted}
              data-approval={one.id}
              aria-current={one.id === current ? "true" : undefined}
              className={`${ROW} flex items-baseline gap-2 border-transparent border-l-2 py-1 pr-4 pl-4 text-xs aria-[current]:border-accent`}
            >
              <span className="min-w-0 flex-1 truncate font-mono">{gist(one, group.items) || "no arguments"}</span>
              <span className="shrink-0 text-dim">
                <Ago at={one.settledAt ?? one.createdAt} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </li>
  );
}

function Signs({ one, timeless }: { one: Interaction; timeless?: boolean }) {
  const [tone, text] = outcomeOf(one);
  const who = one.status === "pending" ? one.actor : (one.settledByName ?? one.actor);
  return (
    <span className="mt-1 flex items-center gap-1.5 text-dim text-xs">
      <EffectBadge effect={one.effect} />
      {one.status !== "pending" && <Badge tone={tone}>{text}</Badge>}
      {KINDS[one.kind] && <Badge tone="accent">{KINDS[one.kind]}</Badge>}
      <span className="min-w-0 truncate">{visible(who ?? "")}</span>
      {!timeless && (
        <span className="ml-auto shrink-0">
          <Ago at={one.settledAt ?? one.createdAt} />
        </span>
      )}
    </span>
  );
}
