import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { execution } from "@/api/queries";
import type { Execution } from "@/api/types";
import { command } from "@/text/code";
import { between, duration } from "@/text/time";
import { visible } from "@/text/visible";
import { StatusBadge } from "@/ui/badge";
import { looks } from "@/ui/button";
import { Code } from "@/ui/code";
import { Command, Identifier } from "@/ui/copy";
import { Page } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { Tabs } from "@/ui/tabs";
import { Ago, useNow } from "@/ui/time";
import { Acts } from "./acts";
import { artifactsTab } from "./artifacts";
import { Calls } from "./calls";
import { Events } from "./events";
import { Log } from "./log";
import { Result } from "./outcome";
import { Timeline } from "./timeline";

export function ExecutionPage() {
  const { id } = useParams({ from: "/shell/executions/$id" });
  const asked = useQuery(execution(id));
  return (
    <Page title="Execution" about={<Identifier id={id} />} wide actions={asked.data && <Acts execution={asked.data} />}>
      <Loaded asked={asked} rows={8}>
        {(found) => <Shown execution={found} />}
      </Loaded>
    </Page>
  );
}

function Shown({ execution }: { execution: Execution }) {
  return (
    <div className="grid min-w-0 gap-4 xl:grid-cols-[minmax(0,1fr)_26rem]">
      <div className="min-w-0 space-y-4">
        <Head execution={execution} />
        {execution.interactions.length > 0 && <Waiting execution={execution} />}
        <Result execution={execution} />
        <Timeline execution={execution} />
        <Parts execution={execution} />
      </div>
      <aside aria-label="Code" className="min-w-0 space-y-3">
        <Code text={execution.code ?? ""} label="code" mark={lineOf(execution)} />
        <Command text={command("executions", "show", execution.executionId)} />
      </aside>
    </div>
  );
}

function lineOf(execution: Execution): number | undefined {
  const line = (execution.error as { line?: unknown } | null)?.line;
  return typeof line === "number" ? line : undefined;
}

function Head({ execution }: { execution: Execution }) {
  const now = useNow();
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-dim text-sm">
      <StatusBadge status={execution.status} />
      <span>{execution.language}</span>
      <span>
        began <Ago at={execution.createdAt} />
      </span>
      <span className="tabular-nums">{duration(between(execution.createdAt, execution.finishedAt, now))}</span>
      <span>{execution.calls?.length ?? 0} calls</span>
    </div>
  );
}

function Waiting({ execution }: { execution: Execution }) {
  return (
    <section aria-label="Waiting for a decision" className="rounded-xl border border-warn/40 bg-warn-soft px-4 py-3">
      <p className="font-medium text-sm text-warn">It waits for you</p>
      <ul className="mt-2 space-y-2">
        {execution.interactions.map((one) => {
          const credential = one.kind === "credential" || one.kind === "oauth";
          return (
            <li key={one.id} className="flex flex-wrap items-center gap-2 text-sm">
              <code className="min-w-0 break-words font-mono text-xs">{visible(one.tool)}</code>
              <span className="text-xs">{visible(one.reason)}</span>
              <Link
                to={credential ? "/connect/$id" : "/approvals/$id"}
                params={{ id: one.id }}
                className={`${looks("plain", "small")} ml-auto`}
              >
                {credential ? "Give the credential" : "Look and decide"}
              </Link>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Parts({ execution }: { execution: Execution }) {
  const { tab } = useSearch({ from: "/shell/executions/$id" });
  const navigate = useNavigate({ from: "/executions/$id" });
  const turn = (id: string) => void navigate({ search: (before) => ({ ...before, tab: id }), replace: true });
  const tabs = [
    { id: "calls", title: `Calls (${execution.calls?.length ?? 0})`, content: <Calls execution={execution} /> },
    { id: "log", title: `Log (${execution.logs.length})`, content: <Log lines={execution.logs} /> },
    { id: "events", title: "Events", content: <Events execution={execution} /> },
    artifactsTab(execution),
  ];
  return (
    <div className="card px-4 py-3">
      <Tabs label="Parts of the execution" tabs={tabs} value={tab ?? "calls"} onChange={turn} />
    </div>
  );
}
