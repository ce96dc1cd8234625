import { useSyncExternalStore } from "react";
import { Problem } from "@/api/client";
import { visible } from "@/text/visible";

type Note = { id: number; text: string; bad: boolean };

let notes: Note[] = [];
let last = 0;
const watchers = new Set<() => void>();

function change(made: Note[]): void {
  notes = made;
  for (const one of watchers) one();
}

/** Tell briefly what came of an act. */
export function tell(text: string, bad = false): void {
  last += 1;
  const note = { id: last, text, bad };
  change([...notes.slice(-2), note]);
  setTimeout(() => change(notes.filter((one) => one.id !== note.id)), bad ? 8000 : 3500);
}

export function tellProblem(error: unknown): void {
  const hint = error instanceof Problem && error.hint ? `: ${error.hint}` : "";
  tell(`${error instanceof Error ? error.message : String(error)}${hint}`, true);
}

function watch(changed: () => void): () => void {
  watchers.add(changed);
  return () => watchers.delete(changed);
}

export function Toasts() {
  const shown = useSyncExternalStore(watch, () => notes);
  return (
    <div
      aria-live="polite"
      className="pointer-events-none fixed inset-x-0 bottom-16 z-50 flex flex-col items-center gap-2 px-4 md:bottom-5"
    >
      {shown.map((note) => (
        <div
          key={note.id}
          className={`card toast pointer-events-auto flex max-w-md items-start gap-2.5 px-4 py-2.5 text-sm ${note.bad ? "border-bad/50 text-bad" : ""}`}
        >
          <span aria-hidden="true" className={note.bad ? "" : "text-ok"}>
            {note.bad ? "✕" : "✓"}
          </span>
          <span className="min-w-0 break-words">{visible(note.text)}</span>
        </div>
      ))}
    </div>
  );
}
