import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Simulation } from "@/api/types";
import { visible } from "@/text/visible";
import { ActionBadge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";

const FEW = 5;

/** Which of the past calls policies as they might be would have decided otherwise. */
export function Changes({ asked }: { asked: { data: Simulation | undefined; error: unknown } }) {
  const [all, setAll] = useState(false);
  if (asked.error) return <Trouble error={asked.error} />;
  if (!asked.data) return <p className="h-5 text-dim text-xs">Checking past calls…</p>;
  const { changed, judged } = asked.data;
  const shown = all ? changed : changed.slice(0, FEW);
  return (
    <section aria-label="What would have changed" className="text-xs">
      <p className={changed.length ? "" : "text-dim"}>{summary(changed.length, judged)}</p>
      {shown.length > 0 && (
        <ul className="mt-1 divide-y divide-line">
          {shown.map((one) => (
            <li key={`${one.executionId} ${one.seq}`} className="flex flex-wrap items-center gap-1.5 py-1">
              <ActionBadge action={one.before.action} />
              <span aria-hidden="true">→</span>
              <span className="sr-only">would be</span>
              <ActionBadge action={one.after.action} />
              <Link
                to="/executions/$id"
                params={{ id: one.executionId }}
                search={{ call: String(one.seq) }}
                className="min-w-0 break-all font-mono text-accent underline"
              >
                {visible(one.path)}
              </Link>
              <span className="ml-auto whitespace-nowrap text-dim">
                {visible(one.actor)} · <Ago at={one.at} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {changed.length > shown.length && (
        <Button size="small" className="mt-1" onClick={() => setAll(true)}>
          {changed.length - shown.length} more
        </Button>
      )}
    </section>
  );
}

function summary(changed: number, judged: number): string {
  if (judged === 0) return "There are no past calls to check.";
  if (changed === 0) return `It would not have changed any of the last ${judged} calls.`;
  return `${changed} of the last ${judged} calls would have been decided differently:`;
}
