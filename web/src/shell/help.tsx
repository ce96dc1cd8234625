import { Dialog } from "@/ui/dialog";
import { Kbd } from "@/ui/kbd";
import { KEYMAP, strokes } from "./keymap";

/** Several keys that do the same stand in one line. */
function lines(keys: Record<string, string>): [string, string[]][] {
  const made = new Map<string, string[]>();
  for (const [key, act] of Object.entries(keys)) made.set(act, [...(made.get(act) ?? []), key]);
  return [...made];
}

export function Help({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard" wide>
      <div className="gap-x-10 sm:columns-2">
        {Object.entries(KEYMAP).map(([where, keys]) => (
          <section key={where} aria-label={where} className="mb-5 break-inside-avoid">
            <h3 className="mb-1.5 font-medium text-dim text-xs">{where}</h3>
            <dl className="text-sm">
              {lines(keys).map(([act, bound]) => (
                <div
                  key={act}
                  className="flex items-baseline justify-between gap-4 border-line border-b py-1.5 last:border-0"
                >
                  <dd>{act}</dd>
                  <dt className="order-last flex shrink-0 gap-2">
                    {bound.map((key) => (
                      <Kbd key={key} keys={strokes(key)} />
                    ))}
                  </dt>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="text-dim text-xs">
        Everything here can be done in a terminal too: see <code className="font-mono">executor --help</code>.
      </p>
    </Dialog>
  );
}
