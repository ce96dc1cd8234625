import type { ReactNode } from "react";
import { useUnsaved } from "@/shell/unsaved";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";

type Props = { title: string; text: string; onDone: () => void; children?: ReactNode };

/** A token is shown once, when it is created: leaving before it is copied needs a confirmation. */
export function Once({ title, text, onDone, children }: Props) {
  useUnsaved(true);
  return (
    <div role="status" className="space-y-2 rounded-xl border border-warn/40 bg-warn-soft p-3">
      <p className="font-medium text-sm text-warn">{title}: copy it now, it is shown only once.</p>
      <Command text={text} label="Copy" />
      {children}
      <Button size="small" onClick={onDone}>
        Done
      </Button>
    </div>
  );
}
