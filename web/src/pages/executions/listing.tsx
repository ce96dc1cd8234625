import { useEffect, useMemo, useRef } from "react";
import type { Execution } from "@/api/types";
import { visible } from "@/text/visible";
import { coloured, isBlank } from "@/ui/coloured";
import { CopyButton } from "@/ui/copy";
import { namedIn } from "./lines";

type Note = { text: string; bad: boolean };

/** The code, with what went wrong or is doubtful below the line that it is about, and where an open call is named. */
export function Listing({ execution, path }: { execution: Execution; path: string | undefined }) {
  const code = execution.code ?? "";
  const lines = useMemo(() => coloured(code, execution.language), [code, execution.language]);
  const notes = notesOf(execution);
  const named = path ? namedIn(code, path) : [];
  const box = useRef<HTMLElement>(null);
  const first = [...notes.keys()].sort((one, other) => one - other)[0] ?? named[0];
  useEffect(() => {
    // Within the code alone: the page stays where its reader is.
    const line = box.current?.querySelector<HTMLElement>(`[data-line="${first}"]`);
    if (box.current && line) box.current.scrollTop = line.offsetTop - box.current.clientHeight / 3;
  }, [first]);
  return (
    <div className="relative min-w-0 rounded-lg border border-line bg-raised/60">
      <div className="absolute top-1 right-1 z-10 rounded-lg bg-raised">
        <CopyButton text={code} label="Copy the code" />
      </div>
      <section
        ref={box}
        tabIndex={0}
        aria-label="code"
        className="relative max-h-[36rem] overflow-auto whitespace-pre-wrap py-2 font-mono text-xs leading-5"
      >
        {lines.map((line, index) => {
          const number = index + 1;
          const at = notes.get(number) ?? [];
          const calls = named.includes(number);
          const tone = at.some((one) => one.bad)
            ? "bg-bad-soft"
            : at.length
              ? "bg-warn-soft"
              : calls
                ? "bg-accent-soft"
                : "";
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
            <div key={index} data-line={number} className={tone}>
              <div className="flex">
                <span aria-hidden="true" className="w-10 shrink-0 select-none pr-1 text-right text-dim">
                  {number}
                </span>
                <span aria-hidden="true" className="w-4 shrink-0 select-none text-center">
                  {at.length ? (at.some((one) => one.bad) ? "✕" : "!") : calls ? "›" : ""}
                </span>
                <code className="min-w-0 break-words pr-9">{isBlank(line) ? " " : line}</code>
              </div>
              {at.map((one) => (
                <p key={one.text} className={`pr-2 pb-1 pl-14 font-sans ${one.bad ? "text-bad" : "text-warn"}`}>
                  <span className="sr-only">Line {number}: </span>
                  {visible(one.text)}
                </p>
              ))}
              {calls && <span className="sr-only">the open call is in this line</span>}
            </div>
          );
        })}
      </section>
    </div>
  );
}

/** By line. An error that stopped the code says the same as its diagnostics, so those are shown where they exist. */
function notesOf(execution: Execution): Map<number, Note[]> {
  const notes = new Map<number, Note[]>();
  const add = (line: unknown, text: string, bad: boolean) => {
    if (typeof line === "number") notes.set(line, [...(notes.get(line) ?? []), { text, bad }]);
  };
  const error = execution.error as { line?: number; message: string; diagnostics?: Diagnostic[] } | null;
  for (const one of error?.diagnostics ?? execution.diagnostics ?? [])
    add(one.line, one.hint ? `${one.message} (${one.hint})` : one.message, one.severity === "error");
  if (error && !error.diagnostics?.length) add(error.line, error.message, true);
  return notes;
}

type Diagnostic = { line: number; message: string; severity: string; hint?: string | null };
