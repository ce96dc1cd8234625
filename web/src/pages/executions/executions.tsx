import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { executions } from "@/api/queries";
import type { ExecutionSummary, Status } from "@/api/types";
import { between, duration } from "@/text/time";
import { visible } from "@/text/visible";
import { StatusBadge } from "@/ui/badge";
import { looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Choice } from "@/ui/field";
import { Page } from "@/ui/page";
import { Empty, Loaded } from "@/ui/states";
import { Ago, useNow } from "@/ui/time";

const STATES: Status[] = ["queued", "running", "paused", "completed", "failed", "cancelled"];

export function ExecutionsPage() {
  const { status, before } = useSearch({ from: "/shell/executions" });
  const navigate = useNavigate({ from: "/executions" });
  const asked = useQuery(executions(status, before));
  const filter = (
    <div className="w-40">
      <Choice
        label="Status"
        hideLabel
        value={status ?? ""}
        onChange={(event) => void navigate({ search: { status: event.target.value || undefined } })}
      >
        <option value="">Every status</option>
        {STATES.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </Choice>
    </div>
  );
  return (
    <Page
      title="Executions"
      about="Every run of code, newest first. It is journalled, so a paused one may wait for days."
      actions={filter}
    >
      <Loaded asked={asked} rows={8}>
        {({ items, next }) => (
          <>
            {items.length ? <Rows items={items} /> : <None filtered={Boolean(status)} />}
            <nav aria-label="Pages" className="mt-3 flex gap-2">
              {before && (
                <Link to="/executions" search={{ status }} className={looks("plain", "small")}>
                  Newest
                </Link>
              )}
              {next && (
                <Link to="/executions" search={{ status, before: next }} className={looks("plain", "small")}>
                  Older
                </Link>
              )}
            </nav>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Rows({ items }: { items: ExecutionSummary[] }) {
  return (
    <ul className="card divide-y divide-line overflow-hidden">
      {items.map((one) => (
        <li key={one.executionId}>
          <Link
            to="/executions/$id"
            params={{ id: one.executionId }}
            className="grid grid-cols-[6.5rem_minmax(0,1fr)] gap-x-3 gap-y-1 px-4 py-2.5 outline-offset-[-2px] hover:bg-raised sm:grid-cols-[6.5rem_minmax(0,1fr)_6rem_5.5rem]"
          >
            <span>
              <StatusBadge status={one.status} />
            </span>
            <span className="min-w-0">
              <code className="block truncate font-mono text-xs leading-5">{visible(one.preview)}</code>
              {one.error && <span className="block truncate text-bad text-xs">{visible(one.error.message)}</span>}
            </span>
            <span className="text-dim text-xs sm:text-right">
              <Took execution={one} />
            </span>
            <span className="text-right text-dim text-xs">
              <Ago at={one.createdAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Took({ execution }: { execution: ExecutionSummary }) {
  const now = useNow();
  return <span className="tabular-nums">{duration(between(execution.createdAt, execution.finishedAt, now))}</span>;
}

function None({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="None in this status" />;
  return (
    <Empty title="Nothing has run yet">
      <p className="mb-3">Let your agent do something, write code in the playground, or:</p>
      <Command text="executor call 'return [1, 2, 3].map((n) => n * 2)'" />
    </Empty>
  );
}
