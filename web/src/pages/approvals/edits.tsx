import type { Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { DiffLines } from "../sessions/difflines";
import { editLines } from "../sessions/edit";

type Edit = { path?: string; oldText?: string | null; newText?: string };

/** What an agent wants to write, as the lines that would change. */
export function Edits({ asked }: { asked: Interaction }) {
  const edits = (asked.diffs ?? []) as Edit[];
  if (edits.length === 0) return null;
  return (
    <section aria-label="Edits" className="space-y-2">
      <h3 className="font-medium text-sm">Edits</h3>
      {edits.map((one) => (
        <div key={one.path} className="min-w-0">
          <p className="mb-1 break-all font-mono text-dim text-xs">{visible(one.path ?? "")}</p>
          <DiffLines
            label={`Edit of ${visible(one.path ?? "a file")}`}
            lines={editLines(one.oldText ?? null, one.newText ?? "")}
          />
        </div>
      ))}
    </section>
  );
}
