import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";
import { get, query } from "@/api/client";
import { whoami } from "@/api/queries";
import type { ExecutionSummary } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, StatusBadge } from "@/ui/badge";
import { SearchField } from "@/ui/field";
import { Section } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { Ago } from "@/ui/time";
import { languageOf, NAMES } from "./language";

const SHOWN = 12;

/** One's own runs: opening one brings its code back. */
export function History() {
  const me = useQuery(whoami).data?.actorId;
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim());
  const asked = useQuery({
    queryKey: ["executions", "mine", me, wanted],
    queryFn: ({ signal }) => get(`/v1/executions${query({ actor: me, text: wanted, limit: SHOWN })}`, signal),
    enabled: Boolean(me),
    placeholderData: keepPreviousData,
  });
  const search = <SearchField label="Search your executions" value={text} onChange={setText} />;
  return (
    <div className="mt-4">
      <Section title="Your executions" actions={search}>
        <Loaded asked={asked} rows={4}>
          {({ items }) => <Rows items={items} text={wanted} />}
        </Loaded>
      </Section>
    </div>
  );
}

function Rows({ items, text }: { items: ExecutionSummary[]; text: string }) {
  if (items.length === 0) {
    return (
      <p className="text-dim text-sm">
        {text ? "None of your executions contains that." : "Your executions appear here."}
      </p>
    );
  }
  return (
    <ul aria-label="Your executions" className="-mx-2 -my-2 divide-y divide-line">
      {items.map((one) => (
        <li key={one.executionId}>
          <Link
            to="/playground"
            search={{ from: one.executionId, run: one.executionId }}
            className="grid grid-cols-[6.5rem_minmax(0,1fr)_auto] items-center gap-3 rounded-lg px-2 py-2 text-sm outline-offset-[-2px] hover:bg-raised"
          >
            <span>
              <StatusBadge status={one.status} />
            </span>
            <code className="min-w-0 truncate font-mono text-xs">{visible(one.preview)}</code>
            <span className="flex items-center gap-2 text-dim text-xs">
              <span className="hidden sm:inline">
                <Badge>{NAMES[languageOf(one.language)]}</Badge>
              </span>
              <Ago at={one.createdAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
