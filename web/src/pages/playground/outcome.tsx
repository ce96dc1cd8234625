import { Link } from "@tanstack/react-router";
import { SquareTerminal } from "lucide-react";
import type { Execution } from "@/api/types";
import { between, duration } from "@/text/time";
import { visible } from "@/text/visible";
import { StatusBadge } from "@/ui/badge";
import { Kbd } from "@/ui/kbd";
import { Empty } from "@/ui/states";
import { useNow } from "@/ui/time";
import { RunApprovals } from "../approvals/run";
import { Log } from "../executions/log";
import { Result, RunTrouble, Stranger } from "../executions/outcome";
import { isFinal, type Run } from "./running";

type OnLine = (line: number, column: number) => void;

/** Beside the code: what came of it, while it comes. */
export function Outcome({ run, onLine }: { run: Run; onLine: OnLine }) {
  if (run.error) return <RunTrouble run={run} />;
  if (!run.shown) {
    return (
      <Empty icon={SquareTerminal} title={run.begin.isPending ? "Starting…" : "The result appears here"}>
        <span className="inline-flex items-center gap-2">
          Run it with <Kbd keys={["Ctrl", "Enter"]} />
        </span>
      </Empty>
    );
  }
  const execution = run.shown;
  return (
    <div className="space-y-3">
      <Head execution={execution} />
      <Stranger execution={execution} />
      <RunApprovals execution={execution} />
      <Failed execution={execution} onLine={onLine} />
      {execution.status === "completed" && <Result execution={execution} />}
      {(execution.logs.length > 0 || !isFinal(execution)) && (
        <div className="card px-4 py-3">
          <h2 className="mb-1.5 font-medium text-sm">Log</h2>
          {execution.logs.length > 0 ? <Log lines={execution.logs} /> : <p className="text-dim text-xs">Nothing yet</p>}
        </div>
      )}
    </div>
  );
}

function Head({ execution }: { execution: Execution }) {
  const now = useNow();
  return (
    <div className="flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1 text-sm" role="status">
      <StatusBadge status={execution.status} />
      <span aria-hidden="true" className="text-dim text-xs tabular-nums">
        {duration(between(execution.createdAt, execution.finishedAt, now))}
      </span>
      <Link
        to="/executions/$id"
        params={{ id: execution.executionId }}
        className="ml-auto font-mono text-accent text-xs underline-offset-2 hover:underline"
      >
        {execution.executionId}
      </Link>
    </div>
  );
}

function Failed({ execution, onLine }: { execution: Execution; onLine: OnLine }) {
  if (!execution.error) return null;
  const { code, message, hint, line, column } = execution.error as Execution["error"] & {
    line?: number;
    column?: number;
  };
  return (
    <section aria-label="Error" className="rounded-xl border border-bad/40 bg-bad-soft px-4 py-3 text-sm">
      <p className="whitespace-pre-wrap break-words font-medium text-bad">{visible(message ?? "", "\n")}</p>
      {hint && <p className="mt-1 whitespace-pre-wrap break-words">{visible(hint, "\n")}</p>}
      <div className="mt-1.5 flex items-center gap-3 text-xs">
        <code className="font-mono">{visible(code ?? "")}</code>
        {typeof line === "number" && (
          <button type="button" className="text-accent underline" onClick={() => onLine(line, column ?? 1)}>
            To line {line}
          </button>
        )}
      </div>
    </section>
  );
}
