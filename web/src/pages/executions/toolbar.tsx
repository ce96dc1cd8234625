import { SlidersHorizontal, X } from "lucide-react";
import { useId, useState } from "react";
import type { ExecutionSummary } from "@/api/types";
import { Button } from "@/ui/button";
import { Choice, TextField } from "@/ui/field";
import { Typed } from "@/ui/typed";
import { AGES, count, type Filters, STATES, statuses } from "./filters";

type Props = { filters: Filters; onChange: (made: Filters) => void; seen: ExecutionSummary[] };

export function Toolbar({ filters, onChange, seen }: Props) {
  const narrowed = Boolean(filters.language || filters.runtime || filters.actor || filters.tool || filters.until);
  const [open, setOpen] = useState(narrowed);
  const panel = useId();
  const set = count(filters);
  return (
    <search aria-label="Filters" className="mb-4 block space-y-2.5">
      <div className="flex flex-wrap items-center gap-2">
        <div className="min-w-44 flex-1">
          <Typed
            label="Text in the code"
            placeholder="Text in the code"
            data-search
            value={filters.text}
            onTyped={(text) => onChange({ text })}
          />
        </div>
        <div className="w-36">
          <Choice
            label="When"
            hideLabel
            value={filters.since ?? ""}
            onChange={(event) => onChange({ since: event.target.value || undefined, until: undefined })}
          >
            <option value="">Any time</option>
            {AGES.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
            {filters.since && !AGES.some(([value]) => value === filters.since) && (
              <option value={filters.since}>Since…</option>
            )}
          </Choice>
        </div>
        <Button aria-expanded={open} aria-controls={panel} onClick={() => setOpen(!open)}>
          <SlidersHorizontal size={14} aria-hidden="true" /> More filters
        </Button>
        {set > 0 && (
          <Button look="ghost" onClick={() => onChange({ ...NOTHING })}>
            <X size={14} aria-hidden="true" /> Clear {set === 1 ? "the filter" : `${set} filters`}
          </Button>
        )}
      </div>
      <States filters={filters} onChange={onChange} />
      <div id={panel} hidden={!open}>
        <More filters={filters} onChange={onChange} seen={seen} />
      </div>
    </search>
  );
}

const NOTHING: Filters = {
  status: undefined,
  language: undefined,
  runtime: undefined,
  actor: undefined,
  tool: undefined,
  text: undefined,
  since: undefined,
  until: undefined,
};

function States({ filters, onChange }: Omit<Props, "seen">) {
  const chosen = statuses(filters);
  const turn = (one: (typeof STATES)[number]) => {
    const made = STATES.filter((state) => (state === one ? !chosen.includes(one) : chosen.includes(state)));
    onChange({ status: made.join(",") || undefined });
  };
  return (
    <fieldset className="flex flex-wrap gap-1.5">
      <legend className="sr-only">Status</legend>
      {STATES.map((one) => (
        <label
          key={one}
          className="flex cursor-pointer items-center gap-1.5 rounded-full border border-line bg-surface px-2.5 py-0.5 text-dim text-xs hover:text-ink has-checked:border-accent has-checked:bg-accent-soft has-checked:text-accent has-focus-visible:outline-2 has-focus-visible:outline-accent has-focus-visible:outline-offset-2"
        >
          <input
            type="checkbox"
            checked={chosen.includes(one)}
            onChange={() => turn(one)}
            className="size-3 accent-accent outline-none"
          />
          {one}
        </label>
      ))}
    </fieldset>
  );
}

function More({ filters, onChange, seen }: Props) {
  const names = useId();
  const people = [...new Set(seen.map((one) => one.actor).filter(Boolean))] as string[];
  const how = filters.runtime ? `runtime ${filters.runtime}` : filters.language ? `language ${filters.language}` : "";
  return (
    <div className="grid grid-cols-2 gap-2.5 md:grid-cols-5">
      <Choice
        label="Runs as"
        value={how}
        onChange={(event) => {
          const [kind, value] = event.target.value.split(" ");
          onChange({ language: undefined, runtime: undefined, ...(kind ? { [kind]: value } : {}) });
        }}
      >
        <option value="">Anything</option>
        <optgroup label="Language">
          <option value="language typescript">TypeScript</option>
          <option value="language python">Python</option>
        </optgroup>
        <optgroup label="Runtime">
          <option value="runtime deno">deno</option>
          <option value="runtime remote">remote</option>
        </optgroup>
      </Choice>
      <Typed
        label="Who"
        list={names}
        placeholder="a name"
        value={filters.actor}
        onTyped={(actor) => onChange({ actor })}
      />
      <datalist id={names}>
        {people.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Typed
        label="Tool or source"
        placeholder="shop.things"
        value={filters.tool}
        onTyped={(tool) => onChange({ tool })}
      />
      <TextField
        label="From"
        type="datetime-local"
        value={/^\d{4}-/.test(filters.since ?? "") ? filters.since : ""}
        onChange={(event) => onChange({ since: event.target.value || undefined })}
      />
      <TextField
        label="Until"
        type="datetime-local"
        value={filters.until ?? ""}
        onChange={(event) => onChange({ until: event.target.value || undefined })}
      />
    </div>
  );
}
