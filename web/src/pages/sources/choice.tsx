import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Problem, put } from "@/api/client";
import type { Refreshed, Source } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Section } from "@/ui/page";
import { Trouble } from "@/ui/states";
import { tell } from "@/ui/toast";
import { FilterFields, filtersOf, optionsOf, type Typed, typedOf } from "./filters";
import { path } from "./queries";

type Act = "try" | "save" | "drop";

/** Which of its tools exist here. What would come and go is shown before it does. */
export function ToolChoice({ source }: { source: Source }) {
  const client = useQueryClient();
  const [typed, setTyped] = useState<Typed>(typedOf(source.choice));
  const choose = useMutation({
    mutationFn: (act: Act) =>
      put(path(source.id, "/choice"), {
        ...filtersOf(typed),
        preview: act === "try",
        drop: act === "drop",
      }),
    onSuccess: (done, act) => {
      if (act === "try") return;
      client.invalidateQueries({ queryKey: ["sources"] });
      client.invalidateQueries({ queryKey: ["tools"] });
      tell(`${done.added.length} tools added, ${done.removed.length} removed`);
    },
  });
  const lost = lostBy(choose.error);
  const about = source.choice
    ? `${source.toolCount.toLocaleString("en")} of ${source.choice.offered.toLocaleString("en")} tools are chosen`
    : "All tools are included. Excluded tools can't be found or called";
  return (
    <Section title="Choose tools" about={about}>
      <div className="max-w-2xl space-y-3">
        <FilterFields kind={source.kind} typed={typed} onType={setTyped} />
        <div className="flex flex-wrap gap-2">
          <Button busy={choose.isPending && choose.variables === "try"} onClick={() => choose.mutate("try")}>
            Show what would change
          </Button>
          <Button
            look="primary"
            busy={choose.isPending && choose.variables !== "try"}
            onClick={() => choose.mutate("save")}
          >
            Save the selection
          </Button>
        </div>
        {lost && <Lost lost={lost} busy={choose.isPending} onDrop={() => choose.mutate("drop")} />}
        {choose.error && !lost ? <Trouble error={choose.error} /> : null}
        {choose.data && choose.variables === "try" && <Differences told={choose.data} />}
        <Command
          text={command(
            "sources",
            "choose",
            source.namespace,
            ...(optionsOf(typed).length ? optionsOf(typed) : ["--everything"]),
          )}
        />
      </div>
    </Section>
  );
}

function lostBy(error: unknown): string[] | null {
  const told = error instanceof Problem ? error.details.dependents : null;
  return Array.isArray(told) ? told.map(String) : null;
}

function Lost({ lost, busy, onDrop }: { lost: string[]; busy: boolean; onDrop: () => void }) {
  return (
    <div role="alert" className="space-y-2 rounded-lg bg-warn-soft p-3 text-sm">
      <p>These depend on tools that would be removed:</p>
      <ul className="list-disc space-y-1 pl-5 text-xs">
        {lost.map((one) => (
          <li key={one} className="[overflow-wrap:anywhere]">
            {visible(one)}
          </li>
        ))}
      </ul>
      <Button look="danger" busy={busy} onClick={onDrop}>
        Remove these tools
      </Button>
    </div>
  );
}

const SHOWN = 50;

function Differences({ told }: { told: Refreshed }) {
  const rows = [...told.added.map((one) => ["+", one]), ...told.removed.map((one) => ["-", one])];
  const of = told.choice ? ` of ${told.choice.offered.toLocaleString("en")}` : "";
  return (
    <section aria-label="What would change" className="text-sm">
      <p className="mb-1.5">
        <b className="font-medium">
          {told.toolCount.toLocaleString("en")}
          {of} tools
        </b>
        <span className="text-dim">
          : {told.added.length} would be added, {told.removed.length} would be removed
        </span>
      </p>
      {rows.length > 0 && (
        <ul tabIndex={0} aria-label="Tools" className="max-h-64 overflow-y-auto rounded-lg border border-line py-1">
          {rows.slice(0, SHOWN).map(([sign, one]) => (
            <li key={one} className={`px-3 font-mono text-xs leading-5 ${sign === "+" ? "text-ok" : "text-bad"}`}>
              {sign} {visible(one ?? "")}
            </li>
          ))}
          {rows.length > SHOWN && <li className="px-3 text-dim text-xs">and {rows.length - SHOWN} more</li>}
        </ul>
      )}
    </section>
  );
}
