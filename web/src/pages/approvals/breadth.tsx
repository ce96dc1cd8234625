import { isNested, write } from "@/api/json";
import type { Interaction } from "@/api/types";
import { cut } from "@/text/cut";
import { visible } from "@/text/visible";
import { Tick } from "@/ui/field";

export type Breadth = "call" | "tool" | "source";

type Props = { asked: Interaction; chosen: Breadth; onChoose: (breadth: Breadth) => void };

/** From narrow to wide. */
export function Breadths({ asked, chosen, onChoose }: Props) {
  const namespace = visible(asked.tool.split(".")[0] ?? "");
  const ways: [Breadth, string][] = [
    ["call", "Exactly this call: this tool with these arguments and no others"],
    ["tool", "This tool"],
    ["source", `Every ${asked.effect} tool of ${namespace}`],
  ];
  return (
    <fieldset>
      <legend className="mb-1.5 font-medium text-sm">
        From now on, without approval, for {visible(asked.actor ?? "the requesting actor")}:
      </legend>
      <div className="space-y-1">
        {ways.map(([breadth, text]) => (
          <label key={breadth} className="flex items-start gap-2 text-sm">
            <input
              type="radio"
              name="breadth"
              className="mt-0.5 size-4 shrink-0 accent-accent"
              checked={chosen === breadth}
              onChange={() => onChoose(breadth)}
            />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** Every plain argument can be made part of the policy. */
export function Pins({ asked, pins, onTurn }: { asked: Interaction; pins: string[]; onTurn: (pin: string) => void }) {
  const given = asked.arguments;
  if (!isNested(given) || Array.isArray(given)) return null;
  const names = Object.entries(given).filter(([, value]) => !isNested(value));
  if (names.length === 0) return null;
  return (
    <fieldset className="mt-2 ml-6">
      <legend className="mb-1 text-dim text-xs">Only with these argument values:</legend>
      <div className="space-y-1">
        {names.map(([name, value]) => {
          const pin = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
          const label = `${visible(name)} = ${cut(visible(write(value)), 120)}`;
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
