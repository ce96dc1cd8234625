import { visible } from "@/text/visible";
import type { Finding, Verdict } from "./assistance";

type Open = (line: number, column: number) => void;

/** What the checker has to say. It keeps its place, so that nothing jumps while one types. */
export function Findings({ verdict, onOpen }: { verdict: Verdict | null; onOpen: Open }) {
  const found = verdict?.diagnostics ?? [];
  return (
    <section aria-label="Problems" className="max-h-40 min-h-9 overflow-y-auto border-line border-t text-xs">
      {found.length === 0 ? (
        <p role="status" className="px-3 py-2 text-dim">
          {said(verdict)}
        </p>
      ) : (
        <ul>
          {found.map((one) => (
            <li key={`${one.line} ${one.column} ${one.message}`}>
              <Line one={one} onOpen={onOpen} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function said(verdict: Verdict | null): string {
  if (!verdict) return "Checking against the connected tools…";
  return verdict.unavailable ? `Not checked: ${visible(verdict.unavailable)}` : "No problems found";
}

function Line({ one, onOpen }: { one: Finding; onOpen: Open }) {
  const bad = one.severity === "error";
  return (
    <button
      type="button"
      onClick={() => onOpen(one.line, one.column)}
      className="flex w-full items-baseline gap-2.5 px-3 py-1.5 text-left outline-offset-[-2px] hover:bg-raised"
    >
      <span aria-hidden="true" className={bad ? "text-bad" : "text-warn"}>
        {bad ? "✕" : "!"}
      </span>
      <span className="w-14 shrink-0 text-dim tabular-nums">
        Line {one.line}
        <span className="sr-only">, {one.severity}:</span>
      </span>
      <span className="min-w-0 break-words">
        {visible(one.message)}
        {one.hint && <span className="block text-dim">{visible(one.hint)}</span>}
      </span>
    </button>
  );
}
