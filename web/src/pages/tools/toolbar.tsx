import { X } from "lucide-react";
import { Button } from "@/ui/button";
import { Choice } from "@/ui/field";
import { Typed } from "@/ui/typed";
import { count, type Filters } from "./filters";

type Props = { filters: Filters; sources?: string[]; onChange: (made: Filters) => void };

const EFFECTS = [
  ["read", "Reads"],
  ["write", "Writes"],
  ["destructive", "Destructive"],
] as const;
const ACTIONS = [
  ["allow", "Allowed"],
  ["require_approval", "Need approval"],
  ["deny", "Denied"],
] as const;
const NOTHING: Filters = { q: undefined, source: undefined, effect: undefined, policy: undefined };

export function Toolbar({ filters, sources, onChange }: Props) {
  const set = count(filters);
  const chosen = (name: "source" | "effect" | "policy") => ({
    hideLabel: true,
    value: filters[name] ?? "",
    onChange: (event: { target: { value: string } }) => onChange({ [name]: event.target.value || undefined }),
  });
  return (
    <search aria-label="Filters" className="mb-3 flex flex-wrap items-center gap-2">
      <div className="min-w-44 flex-1 basis-full sm:basis-0">
        <Typed
          label="Search the tools"
          placeholder="Search by path or description"
          data-search
          value={filters.q}
          onTyped={(q) => onChange({ q })}
        />
      </div>
      {sources && (
        <div className="min-w-32 flex-1 sm:max-w-44">
          <Choice label="Source" {...chosen("source")}>
            <option value="">All sources</option>
            {sources.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </Choice>
        </div>
      )}
      <div className="min-w-28 flex-1 sm:max-w-36">
        <Choice label="Effect" {...chosen("effect")}>
          <option value="">Any effect</option>
          {EFFECTS.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </Choice>
      </div>
      <div className="min-w-28 flex-1 sm:max-w-40">
        <Choice label="Policy in force" {...chosen("policy")}>
          <option value="">Any policy</option>
          {ACTIONS.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </Choice>
      </div>
      {set > 0 && (
        <Button look="ghost" onClick={() => onChange(NOTHING)}>
          <X size={14} aria-hidden="true" /> Clear {set === 1 ? "the filter" : `${set} filters`}
        </Button>
      )}
    </search>
  );
}
