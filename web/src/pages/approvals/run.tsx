import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef } from "react";
import type { Execution, Interaction } from "@/api/types";
import { Loaded } from "@/ui/states";
import { ApprovalCard } from "./card";
import { type Group, grouped, isPlain } from "./gist";
import { LikeCalls } from "./likes";
import { waitingOf } from "./queries";

type Props = { execution: Execution; returned?: boolean };

/** Everything that a run waits for, each as a card to decide it. A card stays when it is decided, with what came of it. */
export function RunApprovals(props: Props) {
  return <Approvals key={props.execution.executionId} {...props} />;
}

function Approvals({ execution, returned }: Props) {
  const asked = useQuery({ ...waitingOf(execution.executionId), enabled: execution.interactions.length > 0 });
  const waiting = asked.data?.items ?? [];
  const groups = useArrivals(waiting);
  if (groups.length === 0 && execution.interactions.length === 0) return null;
  if (groups.length === 0) return <Loaded asked={asked}>{() => null}</Loaded>;
  const more = (asked.data?.total ?? 0) - waiting.length;
  return (
    <section aria-label="Waiting for a decision" className="min-w-0 space-y-3">
      {groups.map(({ key, items }) =>
        items.length > 1 && items.every(isPlain) ? (
          <LikeCalls key={key} waiting={waiting.filter((one) => items.some(({ id }) => id === one.id))} />
        ) : (
          items.map((one) => <ApprovalCard key={one.id} id={one.id} known={one} run={execution} returned={returned} />)
        ),
      )}
      {more > 0 && (
        <Link to="/approvals" className="text-accent text-sm underline">
          {more} more are waiting in Approvals
        </Link>
      )}
    </section>
  );
}

/** Like requests that came together are one group. Groups never change: what comes later is added below them. */
function useArrivals(waiting: Interaction[]): Group[] {
  const known = useRef(new Set<string>());
  const groups = useRef<Group[]>([]);
  const fresh = waiting.filter((one) => !known.current.has(one.id));
  for (const { key, items } of grouped(fresh.sort((one, other) => one.callSeq - other.callSeq))) {
    groups.current.push({ key: `${key} ${items[0]?.id}`, items });
    for (const one of items) known.current.add(one.id);
  }
  return groups.current;
}
