import type { LogLine } from "@/api/types";
import { visible } from "@/text/visible";

const LEVELS: Record<string, string> = { warn: "text-warn", error: "text-bad", debug: "text-dim" };

export function Log({ lines }: { lines: LogLine[] }) {
  if (lines.length === 0) return <p className="py-3 text-dim text-sm">It logged nothing.</p>;
  return (
    <section
      aria-label="Log"
      aria-live="polite"
      tabIndex={0}
      className="max-h-96 overflow-y-auto font-mono text-xs leading-5"
    >
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines are only ever added at the end
        <div key={index} className="flex gap-3">
          <time className="shrink-0 text-dim">{line.at.slice(11, 23)}</time>
          <span className={`w-9 shrink-0 ${LEVELS[line.level] ?? "text-dim"}`}>{line.level}</span>
          <span className="min-w-0 whitespace-pre-wrap break-words">{visible(line.text, "\n\t")}</span>
        </div>
      ))}
    </section>
  );
}
