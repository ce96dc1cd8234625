import { ChevronRight } from "lucide-react";
import { write } from "@/api/json";
import type { SessionMessage } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, type Tone } from "@/ui/badge";
import { Code } from "@/ui/code";
import { DiffLines } from "./difflines";
import { editLines } from "./edit";

type Part = { type: string; text?: string; path?: string; oldText?: string | null; newText?: string };
type Data = { title?: string; kind?: string; status?: string; input?: Record<string, unknown>; content?: Part[] };

const STATES: Record<string, [Tone, string]> = {
  pending: ["quiet", "○ pending"],
  in_progress: ["accent", "◐ running"],
  completed: ["ok", "✓ done"],
  failed: ["bad", "✕ failed"],
};

/** Folded to one line. Edits are shown, since they are what one looks for. */
export function ToolCall({ record }: { record: SessionMessage }) {
  const data = record.data as Data;
  const content = data.content ?? [];
  const edits = content.filter((part) => part.type === "diff");
  const texts = content.filter((part) => part.type === "text" && part.text);
  const [tone, state] = STATES[data.status ?? "pending"] ?? ["quiet", visible(data.status ?? "")];
  const hasInput = Object.keys(data.input ?? {}).length > 0;
  return (
    <details className="group min-w-0 rounded-lg border border-line" open={edits.length > 0}>
      <summary className="flex w-full min-w-0 items-center gap-2 px-3 py-1.5 text-sm">
        <ChevronRight size={14} aria-hidden="true" className="shrink-0 transition-transform group-open:rotate-90" />
        <span className="min-w-0 flex-1 truncate font-mono text-xs">
          {visible(data.title || record.text || data.kind || "tool")}
        </span>
        <Badge tone={tone}>{state}</Badge>
      </summary>
      <div className="space-y-2 border-line border-t px-3 py-2">
        {edits.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name
          <div key={index} className="min-w-0">
            <p className="mb-1 break-all font-mono text-dim text-xs">{visible(part.path ?? "")}</p>
            <DiffLines
              label={`Edit of ${visible(part.path ?? "a file")}`}
              lines={editLines(part.oldText ?? null, part.newText ?? "")}
            />
          </div>
        ))}
        {hasInput && <Code text={write(data.input, 2)} label="input" numbers={false} language="json" />}
        {texts.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name
          <Code key={index} text={part.text ?? ""} label="output" numbers={false} language="text" />
        ))}
        {!hasInput && content.length === 0 && <p className="text-dim text-sm">No details yet.</p>}
      </div>
    </details>
  );
}
