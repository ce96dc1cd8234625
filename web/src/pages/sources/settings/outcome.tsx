import type { components } from "@/api/schema";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";

type Edited = components["schemas"]["EditedView"];

const SHOWN = 50;

/** What ends with an edit, and the way to agree to it. */
export function Ends({ lines, busy, onAgree }: { lines: string[]; busy: boolean; onAgree: () => void }) {
  return (
    <div role="alert" className="space-y-2 rounded-lg bg-warn-soft p-3 text-sm">
      <p>Nothing has changed yet. With this change:</p>
      <List lines={lines} />
      <Button look="danger" busy={busy} onClick={onAgree}>
        Change it
      </Button>
    </div>
  );
}

function List({ lines }: { lines: string[] }) {
  return (
    <ul className="list-disc space-y-1 pl-5 text-xs">
      {lines.map((one) => (
        <li key={one} className="[overflow-wrap:anywhere]">
          {visible(one)}
        </li>
      ))}
    </ul>
  );
}

export function Outcome({ told }: { told: Edited }) {
  const rows = [
    ...told.added.map((one) => ["+", one, "text-ok"] as const),
    ...told.removed.map((one) => ["-", one, "text-bad"] as const),
    ...told.changed.map((one) => ["~", one, "text-warn"] as const),
  ];
  return (
    <section aria-label="Preview" className="space-y-2 text-sm">
      <p>
        <b className="font-medium">{told.toolCount.toLocaleString("en")} tools</b>
        <span className="text-dim">
          : {told.added.length} would be added, {told.removed.length} removed, {told.changed.length} changed
        </span>
      </p>
      {told.error && <p className="text-warn">{visible(told.error)}</p>}
      {told.invalidates ? <List lines={told.invalidates.lines} /> : <p>Calls go where they went.</p>}
      {rows.length > 0 && (
        <ul tabIndex={0} aria-label="Tools" className="max-h-64 overflow-y-auto rounded-lg border border-line py-1">
          {rows.slice(0, SHOWN).map(([sign, one, tone]) => (
            <li key={one} className={`px-3 font-mono text-xs leading-5 ${tone}`}>
              {sign} {visible(one)}
            </li>
          ))}
          {rows.length > SHOWN && <li className="px-3 text-dim text-xs">and {rows.length - SHOWN} more</li>}
        </ul>
      )}
    </section>
  );
}
