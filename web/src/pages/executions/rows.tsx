import { Link } from "@tanstack/react-router";
import type { Ref } from "react";
import type { ExecutionSummary } from "@/api/types";
import { between, duration } from "@/text/time";
import { visible } from "@/text/visible";
import { StatusBadge } from "@/ui/badge";
import { Ago, useNow } from "@/ui/time";

export const THROUGH: Record<string, string> = { cli: "CLI", web: "web UI", mcp: "MCP", api: "API" };

export function Rows({ items, list }: { items: ExecutionSummary[]; list: Ref<HTMLUListElement> }) {
  return (
    <ul ref={list} aria-label="Executions" className="card divide-y divide-line overflow-hidden">
      {items.map((one) => (
        <li key={one.executionId}>
          <Row execution={one} />
        </li>
      ))}
    </ul>
  );
}

function Row({ execution }: { execution: ExecutionSummary }) {
  const { calls, error } = execution;
  return (
    <Link
      data-row
      to="/executions/$id"
      params={{ id: execution.executionId }}
      className="grid grid-cols-[6.5rem_minmax(0,1fr)] gap-x-3 gap-y-1 px-4 py-2.5 outline-offset-[-2px] hover:bg-raised focus-visible:bg-raised md:grid-cols-[6.5rem_minmax(0,1fr)_9rem_4.5rem_5.5rem_5rem]"
    >
      <span className="flex h-5 items-center">
        <StatusBadge status={execution.status} />
      </span>
      <span className="min-w-0">
        <code className="block truncate font-mono text-xs leading-5">{visible(execution.preview)}</code>
        {error && <span className="block truncate text-bad text-xs">{visible(error.message)}</span>}
      </span>
      <span className="col-span-2 flex min-w-0 flex-wrap gap-x-3 text-dim text-xs leading-5 md:contents">
        <span className="min-w-0 truncate">
          {visible(execution.actor ?? "")}
          {execution.through && <span> · {THROUGH[execution.through]}</span>}
        </span>
        <span className="whitespace-nowrap tabular-nums md:text-right">
          {calls === 1 ? "1 call" : `${calls} calls`}
        </span>
        <span className="tabular-nums md:text-right">
          <Took execution={execution} />
        </span>
        <span className="ml-auto text-right">
          <Ago at={execution.createdAt} />
        </span>
      </span>
    </Link>
  );
}

function Took({ execution }: { execution: ExecutionSummary }) {
  const now = useNow();
  return <>{duration(between(execution.createdAt, execution.finishedAt, now))}</>;
}
