import { Dialog } from "@/ui/dialog";

const KEYS: [string, string][] = [
  ["Ctrl K", "Go anywhere: pages, tools, executions"],
  ["/", "Search on this page"],
  ["?", "This help"],
  ["g", "To the approvals"],
  ["j  k", "Approvals: next, previous"],
  ["Enter  o", "Approvals: open"],
  ["a, then y", "Approvals: allow once (two keys, so that no single one does it)"],
  ["d", "Approvals: deny, with a reason; Enter sends it"],
  ["Alt ↑  Alt ↓", "Policies: move the rule that has the focus"],
  ["Ctrl Enter", "Playground: run"],
  ["Esc", "Close, or clear the search"],
];

export function Help({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard">
      <dl className="space-y-2 text-sm">
        {KEYS.map(([key, act]) => (
          <div key={key} className="flex gap-4">
            <dt className="w-24 shrink-0">
              <kbd className="rounded border border-line bg-raised px-1.5 py-0.5 font-mono text-xs">{key}</kbd>
            </dt>
            <dd className="text-dim">{act}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-4 text-dim text-xs">Everything here can be done in a terminal too: see `executor --help`.</p>
    </Dialog>
  );
}
