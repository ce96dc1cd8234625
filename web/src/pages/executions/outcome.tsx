import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { whoami } from "@/api/queries";
import type { Execution } from "@/api/types";
import { visible } from "@/text/visible";
import { StatusBadge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Trouble } from "@/ui/states";
import { Tree } from "@/ui/tree";
import { RunApprovals } from "../approvals/run";
import { Kept } from "./artifacts";
import type { Run } from "./run";

/** What came of it: a value, an error with the next step, or nothing yet. */
export function Result({ execution }: { execution: Execution }) {
  if (execution.error) {
    const { code, message, hint } = execution.error;
    return (
      <section aria-label="Error" className="rounded-xl border border-bad/40 bg-bad-soft px-4 py-3 text-sm">
        <p className="whitespace-pre-wrap break-words font-medium text-bad">{visible(message, "\n")}</p>
        {hint && <p className="mt-1 whitespace-pre-wrap break-words">{visible(hint, "\n")}</p>}
        <code className="mt-1 block font-mono text-xs">{visible(code)}</code>
      </section>
    );
  }
  if (execution.status !== "completed") return null;
  return (
    <section aria-label="Result">
      <h2 className="mb-1.5 font-medium text-sm">Result</h2>
      <Kept kept={execution.artifact} />
      <Tree value={execution.result} label="result" bounded={Boolean(execution.artifact)} />
    </section>
  );
}

/** What the checker had to say; nothing of it kept the code from running. */
function Doubts({ execution }: { execution: Execution }) {
  if (!execution.diagnostics?.length || execution.error) return null;
  return (
    <ul aria-label="Type warnings" className="space-y-1 rounded-xl bg-warn-soft px-4 py-3 text-sm text-warn">
      {execution.diagnostics.map((one) => (
        <li key={`${one.line} ${one.column} ${one.message}`} className="break-words">
          Line {one.line}: {visible(one.message)}
        </li>
      ))}
    </ul>
  );
}

/** It could not be started, or the run that the address names is not here. */
export function RunTrouble({ run }: { run: Run }) {
  return (
    <Trouble error={run.error}>
      {run.missing ? (
        <Button size="small" className="mt-2" onClick={run.forget}>
          Close this run
        </Button>
      ) : null}
    </Trouble>
  );
}

/** An address can be sent to someone else: whose run it is. */
export function Stranger({ execution }: { execution: Execution }) {
  const me = useQuery(whoami).data?.actorId;
  if (!me || !execution.actorId || execution.actorId === me) return null;
  return (
    <p role="note" className="rounded-lg bg-raised px-3 py-2 text-sm">
      You are looking at a run of <b className="break-words">{visible(execution.actor ?? execution.actorId)}</b>.
    </p>
  );
}

/** For where code was just run: what it waits for, the outcome, and the way to everything else about it. */
export function Outcome({ execution }: { execution: Execution }) {
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center gap-2 text-sm" role="status">
        <StatusBadge status={execution.status} />
        <Link
          to="/executions/$id"
          params={{ id: execution.executionId }}
          className="font-mono text-accent text-xs underline"
        >
          {execution.executionId}
        </Link>
      </div>
      <Stranger execution={execution} />
      <RunApprovals execution={execution} returned={false} />
      <Doubts execution={execution} />
      <Result execution={execution} />
    </div>
  );
}
