import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { post } from "@/api/client";
import type { Execution } from "@/api/types";
import { command } from "@/text/code";
import { Command, Identifier } from "@/ui/copy";
import { Page } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { Tabs } from "@/ui/tabs";
import { waitingOf } from "../approvals/queries";
import { RunApprovals } from "../approvals/run";
import { Acts } from "./acts";
import { artifactsTab } from "./artifacts";
import { Calls } from "./calls";
import { Events } from "./events";
import { Announced, Head, toolCalls } from "./head";
import { Listing } from "./listing";
import { Log } from "./log";
import { Result } from "./outcome";
import { type CallHead, shown } from "./queries";
import { ReplayOutcome } from "./replay";
import { Timeline } from "./timeline/timeline";

export function ExecutionPage() {
  const { id } = useParams({ from: "/shell/executions/$id" });
  return <One key={id} id={id} />;
}

function One({ id }: { id: string }) {
  const found = useQuery(shown(id));
  // Both at once: a card that came later would push the rest of the page down.
  const waiting = useQuery(waitingOf(id)).isPending && Boolean(found.data?.interactions.length);
  const asked = waiting ? { ...found, data: undefined } : found;
  const replay = useMutation({ mutationFn: () => post(`/v1/executions/${encodeURIComponent(id)}/replay`) });
  const acts = asked.data && (
    <Acts execution={asked.data} replaying={replay.isPending} onReplay={() => replay.mutate()} />
  );
  return (
    <Page title="Execution" about={<About id={id} execution={asked.data} />} wide actions={acts}>
      <Loaded asked={asked} rows={8}>
        {(found) => (
          <div className="space-y-4">
            <Announced status={found.status} />
            <ReplayOutcome id={id} report={replay.data} error={replay.error} onClose={replay.reset} />
            <Shown execution={found} />
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function About({ id, execution }: { id: string; execution: Execution | undefined }) {
  return (
    <>
      <Identifier id={id} />
      <div className="mt-1 min-h-6">{execution && <Head execution={execution} />}</div>
    </>
  );
}

function Shown({ execution }: { execution: Execution }) {
  const { call } = useSearch({ from: "/shell/executions/$id" });
  const open = ((execution.heads ?? []) as CallHead[]).find((one) => String(one.seq) === call);
  return (
    <div className="grid min-w-0 gap-4 xl:grid-cols-[minmax(0,1fr)_26rem]">
      <div className="min-w-0 space-y-4">
        <RunApprovals execution={execution} />
        <Result execution={execution} />
        <Timeline execution={execution} />
        <Parts execution={execution} />
      </div>
      <aside aria-label="Code" className="min-w-0 space-y-3 xl:sticky xl:top-4 xl:self-start">
        <Listing execution={execution} path={open?.kind === "tool" ? open.path : undefined} />
        <Command text={command("executions", "show", execution.executionId)} />
      </aside>
    </div>
  );
}

function Parts({ execution }: { execution: Execution }) {
  const { tab } = useSearch({ from: "/shell/executions/$id" });
  const navigate = useNavigate({ from: "/executions/$id" });
  const turn = (id: string) =>
    void navigate({ search: (before) => ({ ...before, tab: id }), replace: true, resetScroll: false });
  const tabs = [
    { id: "calls", title: `Calls (${toolCalls(execution).length})`, content: <Calls execution={execution} /> },
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
