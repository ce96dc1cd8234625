import type { SessionMessage } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, type Tone } from "@/ui/badge";
import { ApprovalCard, Outcome } from "../approvals/card";
import { AgentText } from "./markdown";
import { ToolCall } from "./toolcall";

/** One entry of a transcript. Kinds that say nothing to a reader show nothing. */
export function Record({ record }: { record: SessionMessage }) {
  if (record.kind === "prompt") return <Prompt record={record} />;
  if (record.kind === "text") return <AgentText text={record.text} />;
  if (record.kind === "thought") return <Thought text={record.text} />;
  if (record.kind === "tool_call") return <ToolCall record={record} />;
  if (record.kind === "plan") return <Plan record={record} />;
  if (record.kind === "permission") return <Permission record={record} />;
  if (record.kind === "notice")
    return <p className="rounded-lg bg-raised px-3 py-1.5 text-dim text-sm">{visible(record.text)}</p>;
  return null;
}

const TASKS: { [status: string]: Tone } = {
  running: "accent",
  waiting: "warn",
  completed: "ok",
  failed: "bad",
  interrupted: "bad",
};

function Prompt({ record }: { record: SessionMessage }) {
  const status = String(record.data.status ?? "");
  return (
    <article aria-label={`Prompt ${record.data.number ?? ""}`} className="rounded-xl bg-accent-soft px-4 py-2.5">
      <p className="whitespace-pre-wrap break-words text-sm leading-6">{visible(record.text, "\n\t")}</p>
      {status && (
        <p className="mt-1">
          <Badge tone={TASKS[status] ?? "quiet"}>{status}</Badge>
        </p>
      )}
    </article>
  );
}

function Thought({ text }: { text: string }) {
  return (
    <details className="min-w-0 border-line border-l-2 pl-3 text-dim text-sm">
      <summary className="max-w-full truncate">{visible(text.split("\n", 1)[0] ?? "")}</summary>
      <p className="mt-1 whitespace-pre-wrap break-words">{visible(text, "\n\t")}</p>
    </details>
  );
}

type Entry = { content?: string; status?: string };
const SIGNS: { [status: string]: string } = { completed: "✓", in_progress: "◐", pending: "○" };

function Plan({ record }: { record: SessionMessage }) {
  const entries = (record.data.entries ?? []) as Entry[];
  return (
    <section aria-label="Plan" className="rounded-lg border border-line px-3 py-2">
      <h3 className="mb-1 font-medium text-sm">Plan</h3>
      <ul className="space-y-0.5 text-sm">
        {entries.map((one, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an entry is its place
          <li key={index} className="flex gap-2">
            <span aria-hidden="true">{SIGNS[one.status ?? ""] ?? "○"}</span>
            <span className={one.status === "completed" ? "text-dim" : ""}>
              {visible(one.content ?? "")}
              <span className="sr-only"> ({visible(one.status ?? "pending")})</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Decided where it came up. What was decided long ago is one line. */
function Permission({ record }: { record: SessionMessage }) {
  const { interactionId, status, tool, reason } = record.data as { [name: string]: string | undefined };
  if (status === "pending" && interactionId) return <ApprovalCard id={interactionId} returned={false} />;
  return (
    <p className="flex flex-wrap items-center gap-2 text-dim text-sm">
      <Outcome asked={{ kind: "approval", status: status ?? "" }} />{" "}
      <code className="font-mono text-xs">{visible(tool ?? "")}</code>
      {reason && <span className="min-w-0 break-words">{visible(reason)}</span>}
    </p>
  );
}
