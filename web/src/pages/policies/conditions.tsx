import { Trash2 } from "lucide-react";
import { Button, IconButton } from "@/ui/button";
import { Choice, TextField } from "@/ui/field";

export type Test = "equals" | "one_of" | "matches" | "at_most" | "at_least";
export type Draft = { path: string; test: Test; value: unknown };

const TESTS: [Test, string][] = [
  ["equals", "is"],
  ["one_of", "is one of"],
  ["matches", "matches"],
  ["at_most", "is at most"],
  ["at_least", "is at least"],
];

/** What the arguments must be for the rule to hold. */
export function Conditions({ drafts, onChange }: { drafts: Draft[]; onChange: (drafts: Draft[]) => void }) {
  const set = (at: number, change: Partial<Draft>) =>
    onChange(drafts.map((one, index) => (index === at ? { ...one, ...change } : one)));
  return (
    <fieldset className="space-y-2">
      <legend className="mb-1 font-medium text-sm">Only when</legend>
      {drafts.map((one, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no name but its place
        <div key={index} className="grid grid-cols-[minmax(0,1fr)_7.5rem_minmax(0,1fr)_auto] items-center gap-2">
          <TextField
            hideLabel
            label="Argument"
            value={one.path}
            placeholder="/amount"
            className="font-mono"
            onChange={(event) => set(index, { path: event.target.value })}
          />
          <Choice
            hideLabel
            label="Test"
            value={one.test}
            onChange={(event) => set(index, { test: event.target.value as Test })}
          >
            {TESTS.map(([test, text]) => (
              <option key={test} value={test}>
                {text}
              </option>
            ))}
          </Choice>
          <TextField
            hideLabel
            label="Value"
            defaultValue={written(one.value)}
            placeholder="100"
            className="font-mono"
            onChange={(event) => set(index, { value: read(event.target.value, one.test) })}
          />
          <IconButton label="Remove the condition" onClick={() => onChange(drafts.filter((_, at) => at !== index))}>
            <Trash2 size={14} aria-hidden="true" />
          </IconButton>
        </div>
      ))}
      <Button size="small" onClick={() => onChange([...drafts, { path: "", test: "equals", value: "" }])}>
        Add a condition
      </Button>
    </fieldset>
  );
}

function written(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** JSON where it is some; else a text, or a list of texts. */
function read(text: string, test: Test): unknown {
  if (test === "matches") return text;
  try {
    return JSON.parse(text);
  } catch {
    return test === "one_of" ? text.split(",").map((part) => part.trim()) : text;
  }
}
