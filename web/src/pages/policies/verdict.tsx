import type { Decision } from "@/api/types";
import { visible } from "@/text/visible";
import { ActionBadge, EffectBadge } from "@/ui/badge";

// Colour is never alone: each verdict has a sign of its own.
const SIGNS = { decides: "✓", outdone: "↧", later: "↥", no: "✕" };

/** What was decided, and what became of every policy. */
export function Verdict({ decision }: { decision: Decision }) {
  return (
    <>
      <p className="flex flex-wrap items-center gap-2">
        <ActionBadge action={decision.action} /> <EffectBadge effect={decision.effect} /> {visible(decision.reason)}
      </p>
      {decision.rules.length > 0 && (
        <ol aria-label="How each policy was evaluated" className="mt-2 divide-y divide-line">
          {decision.rules.map((one) => (
            <li
              key={one.policy.id}
              className={`flex gap-2 py-1 text-xs ${one.verdict === "decides" ? "font-medium" : "text-dim"}`}
            >
              <span aria-hidden="true" className="w-4 shrink-0 text-center">
                {SIGNS[one.verdict]}
              </span>
              <span className="min-w-0">
                <code className="break-words font-mono [overflow-wrap:anywhere]">{visible(one.policy.text)}</code>
                <span className="block">{one.verdict === "decides" ? "This policy decides." : capital(one.why)}</span>
              </span>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

function capital(text: string): string {
  const shown = visible(text);
  return `${shown.charAt(0).toUpperCase()}${shown.slice(1)}.`;
}
