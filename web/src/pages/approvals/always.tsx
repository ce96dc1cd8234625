import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, query } from "@/api/client";
import type { Always, Interaction, Policy } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Tick } from "@/ui/field";
import { Loaded } from "@/ui/states";

export type Rule = Pick<Policy, "pattern" | "action" | "conditions" | "note"> & {
  actor: string;
  source: string;
  effect: Policy["effect"];
  level: string;
};

/** The rule as it would be saved, before it is. Every argument can be made part of it. */
export function AlwaysRule({
  asked,
  busy,
  onSave,
}: {
  asked: Interaction;
  busy: boolean;
  onSave: (rule: Rule) => void;
}) {
  const [pins, setPins] = useState<string[]>([]);
  const draft = useQuery({
    queryKey: ["interaction", asked.id, "rule", ...pins],
    queryFn: ({ signal }) => get<Always>(`/v1/interactions/${asked.id}/rule${query({ pin: pins })}`, signal),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const turn = (pin: string) => setPins(pins.includes(pin) ? pins.filter((one) => one !== pin) : [...pins, pin]);
  return (
    <section aria-label="Always allow" className="rounded-xl border border-line bg-surface p-4">
      <h3 className="font-medium text-sm">This rule would be added</h3>
      <Loaded asked={draft} rows={2}>
        {(always) => (
          <div className="mt-2 space-y-4">
            <Draft always={always} />
            <Pins asked={asked} pins={pins} onTurn={turn} />
            <Button
              look="primary"
              disabled={busy || draft.isPlaceholderData}
              onClick={() => onSave(ruleOf(always.rule))}
            >
              Save the rule and allow
            </Button>
          </div>
        )}
      </Loaded>
    </section>
  );
}

function Draft({ always }: { always: Always }) {
  const { count, tools } = always.matches;
  const place = always.position === null ? "after all others" : `as number ${always.position + 1}`;
  return (
    <>
      <pre className="overflow-x-auto whitespace-pre-wrap rounded-lg bg-ok-soft px-3 py-2 font-mono text-ok text-xs">
        + {visible(always.rule.text)}
      </pre>
      <p className="text-dim text-xs">
        It goes into the rules of the {always.rule.level}, {place}. It is about {count} {count === 1 ? "tool" : "tools"}
        :{" "}
        {tools
          .slice(0, 5)
          .map((path) => visible(path))
          .join(", ")}
        {count > 5 && " …"} From then on such a call is made without asking.
      </p>
    </>
  );
}

function Pins({ asked, pins, onTurn }: { asked: Interaction; pins: string[]; onTurn: (pin: string) => void }) {
  const given = asked.arguments;
  if (typeof given !== "object" || given === null || Array.isArray(given)) return null;
  const names = Object.entries(given).filter(([, value]) => typeof value !== "object");
  if (names.length === 0) return null;
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm">Only with exactly these arguments:</legend>
      <div className="space-y-1.5">
        {names.map(([name, value]) => {
          const pin = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
          const label = `${visible(name)} = ${visible(JSON.stringify(value)).slice(0, 120)}`;
          return (
            <Tick
              key={pin}
              checked={pins.includes(pin)}
              onChange={() => onTurn(pin)}
              label={<code className="font-mono text-xs">{label}</code>}
            />
          );
        })}
      </div>
    </fieldset>
  );
}

function ruleOf(policy: Policy): Rule {
  const { pattern, action, conditions, effect, note, level } = policy;
  return {
    pattern,
    action,
    conditions,
    effect,
    note,
    level,
    actor: policy.actorId ?? "",
    source: policy.sourceId ?? "",
  };
}
