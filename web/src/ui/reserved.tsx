import { Lock } from "lucide-react";
import type { ReactNode } from "react";

/** What one may not do here, and who can: better than a button that refuses. */
export function Reserved({ who, children }: { who: string; children: ReactNode }) {
  return (
    <p className="mb-3 flex items-start gap-2 rounded-lg bg-raised px-3 py-2 text-dim text-sm">
      <Lock size={14} aria-hidden="true" className="mt-0.5 shrink-0" />
      <span>
        {children} Ask {who}.
      </span>
    </p>
  );
}
