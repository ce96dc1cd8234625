import { Link } from "@tanstack/react-router";
import type { Execution } from "@/api/types";
import { visible } from "@/text/visible";
import { StatusBadge } from "@/ui/badge";
import { looks } from "@/ui/button";
import { Tree } from "@/ui/tree";
import { Kept } from "./artifacts";

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
    <ul aria-label="Doubts" className="space-y-1 rounded-xl bg-warn-soft px-4 py-3 text-sm text-warn">
      {execution.diagnostics.map((one) => (
        <li key={`${one.line} ${one.column} ${one.message}`} className="break-words">
          Line {one.line}: {visible(one.message)}
        </li>
      ))}
    </ul>
  );
}

/** For where code was just run: the outcome, and the way to everything else about it. */
export function Outcome({ execution }: { execution: Execution }) {
  const question = execution.interactions[0];
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
        {question && (
          <Link
            to={question.kind === "approval" || question.kind === "unknown_outcome" ? "/approvals/$id" : "/connect/$id"}
            params={{ id: question.id }}
            className={`${looks("primary", "small")} ml-auto`}
          >
            Look and decide
          </Link>
        )}
      </div>
      <Doubts execution={execution} />
      <Result execution={execution} />
    </div>
  );
}
