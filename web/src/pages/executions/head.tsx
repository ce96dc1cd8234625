import { useEffect, useRef, useState } from "react";
import type { Execution, Status } from "@/api/types";
import { between, duration } from "@/text/time";
import { visible } from "@/text/visible";
import { StatusBadge } from "@/ui/badge";
import { Ago, useNow } from "@/ui/time";
import type { CallHead } from "./queries";
import { THROUGH } from "./rows";

export function toolCalls(execution: Execution): CallHead[] {
  return ((execution.heads ?? []) as CallHead[]).filter((one) => one.kind === "tool");
}

export function Head({ execution }: { execution: Execution }) {
  const now = useNow();
  const { actor, through, language, runtime, clientName, clientId } = execution;
  const client = [clientName, clientId].filter(Boolean).join(", ");
  const calls = toolCalls(execution).length;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-dim text-sm">
      <StatusBadge status={execution.status} />
      <span>
        {language}
        {runtime !== language && ` on ${runtime}`}
      </span>
      {actor && (
        <span>
          by <span className="text-ink">{visible(actor)}</span>
          {through && ` through ${THROUGH[through]}`}
        </span>
      )}
      {client && (
        <span>
          from <span className="text-ink">{visible(client)}</span>
        </span>
      )}
      <span>
        began <Ago at={execution.createdAt} />
      </span>
      <span className="tabular-nums">{duration(between(execution.createdAt, execution.finishedAt, now))}</span>
      <span>{calls === 1 ? "1 call" : `${calls} calls`}</span>
    </div>
  );
}

const SAID: Record<Status, string> = {
  queued: "The execution is queued",
  running: "The execution is running",
  paused: "The execution needs a decision",
  completed: "The execution has completed",
  failed: "The execution has failed",
  cancelled: "The execution was cancelled",
};

/** Says changes aloud; what it was when the page opened is on the page. */
export function Announced({ status }: { status: Status }) {
  const before = useRef(status);
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (before.current !== status) setSaid(SAID[status]);
    before.current = status;
  }, [status]);
  return (
    <p role="status" aria-live="polite" className="sr-only">
      {said}
    </p>
  );
}
