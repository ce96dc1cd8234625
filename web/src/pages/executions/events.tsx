import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "@/api/client";
import type { Execution, LiveEvent } from "@/api/types";
import { sentence } from "@/text/events";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Choice } from "@/ui/field";
import { Loaded } from "@/ui/states";
import { Tree } from "@/ui/tree";
import { eventsAddress } from "./queries";

const KINDS: Record<string, { title: string; types: string[] }> = {
  all: { title: "Everything", types: [] },
  calls: { title: "Calls", types: ["call.*"] },
  approvals: { title: "Approvals", types: ["interaction.*"] },
  log: { title: "Log lines", types: ["execution.log"] },
};

/** Everything that was recorded of it, oldest first, as many as one wants to see. */
export function Events({ execution }: { execution: Execution }) {
  const id = execution.executionId;
  const [kind, setKind] = useState("all");
  const asked = useInfiniteQuery({
    queryKey: ["execution", id, "events", kind],
    queryFn: ({ pageParam, signal }) => get(eventsAddress(id, KINDS[kind]?.types ?? [], pageParam), signal),
    initialPageParam: 0,
    getNextPageParam: (last) => last.next ?? undefined,
  });
  return (
    <>
      <div className="mb-2 w-40">
        <Choice label="Which events" hideLabel value={kind} onChange={(event) => setKind(event.target.value)}>
          {Object.entries(KINDS).map(([name, { title }]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </Choice>
      </div>
      <Loaded asked={asked}>
        {({ pages }) => <List items={pages.flatMap((page) => page.items)} begin={Date.parse(execution.createdAt)} />}
      </Loaded>
      {asked.hasNextPage && (
        <Button size="small" className="mt-2" busy={asked.isFetchingNextPage} onClick={() => asked.fetchNextPage()}>
          Show more
        </Button>
      )}
    </>
  );
}

function List({ items, begin }: { items: LiveEvent[]; begin: number }) {
  if (items.length === 0) return <p className="py-3 text-dim text-sm">No events.</p>;
  return (
    <ol aria-label="Events" className="divide-y divide-line">
      {items.map((event) => (
        <li key={event.id}>
          <One event={event} begin={begin} />
        </li>
      ))}
    </ol>
  );
}

function One({ event, begin }: { event: LiveEvent; begin: number }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(toggled) => setOpen(toggled.currentTarget.open)}>
      <summary className="flex w-full min-w-0 items-baseline gap-3 py-1 text-xs marker:content-none hover:bg-raised">
        <time dateTime={event.at} title={event.at} className="w-16 shrink-0 text-right text-dim tabular-nums">
          +{after(Date.parse(event.at) - begin)}
        </time>
        <span className="min-w-0 flex-1 break-words">{visible(sentence(event.type, event.data))}</span>
        <code className="hidden shrink-0 font-mono text-dim sm:inline">{visible(event.type)}</code>
      </summary>
      {open && (
        <div className="pb-2">
          <Tree value={event} label="event" />
        </div>
      )}
    </details>
  );
}

function after(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 60) return `${seconds.toFixed(3)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.floor(seconds % 60)}` : `${Math.floor(minutes / 60)} h ${minutes % 60}`;
}
