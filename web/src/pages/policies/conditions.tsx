import { Trash2 } from "lucide-react";
import { useState } from "react";
import { parse, Written, write } from "@/api/json";
import { visible } from "@/text/visible";
import { Button, IconButton } from "@/ui/button";
import { Choice, TextField } from "@/ui/field";
import type { Draft } from "./command";

type Condition = Draft["conditions"][number];
type Test = Condition["test"];

const TESTS: [Test, string][] = [
  ["equals", "is"],
  ["one_of", "is one of"],
  ["matches", "matches"],
  ["at_most", "is at most"],
  ["at_least", "is at least"],
];
const HINTS: Record<Test, string> = {
  equals: '"acme", 5, true',
  one_of: "open, closed",
  matches: "refs/heads/(main|dev)",
  at_most: "100",
  at_least: "1",
};

/** What the arguments must be for the policy to hold. */
export function Conditions({ drafts, onChange }: { drafts: Condition[]; onChange: (drafts: Condition[]) => void }) {
  const set = (at: number, change: Partial<Condition>) =>
    onChange(drafts.map((one, index) => (index === at ? { ...one, ...change } : one)));
  return (
    <fieldset className="space-y-2">
      <legend className="mb-1 font-medium text-sm">Only when</legend>
      {drafts.map((one, index) => (
        <Row
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no name but its place
          key={index}
          one={one}
          onSet={(change) => set(index, change)}
          onRemove={() => onChange(drafts.filter((_, at) => at !== index))}
        />
      ))}
      <Button size="small" onClick={() => onChange([...drafts, { path: "", test: "equals", value: "" }])}>
        Add a condition
      </Button>
    </fieldset>
  );
}

type RowProps = { one: Condition; onSet: (change: Partial<Condition>) => void; onRemove: () => void };

/** The value is kept as it was typed: what it means depends on the test. */
function Row({ one, onSet, onRemove }: RowProps) {
  const [typed, setTyped] = useState(() => written(one));
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_7rem_minmax(0,1fr)_auto] items-start gap-2">
      <TextField
        hideLabel
        label="Argument"
        value={one.path}
        placeholder="/amount"
        className="font-mono"
        spellCheck={false}
        onChange={(event) => onSet({ path: event.target.value })}
      />
      <Choice
        hideLabel
        label="Test"
        value={one.test}
        onChange={(event) => {
          const test = event.target.value as Test;
          onSet({ test, value: read(typed, test) });
        }}
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
        value={typed}
        placeholder={HINTS[one.test]}
        hint={typed && kind(one.value)}
        className="font-mono"
        spellCheck={false}
        onChange={(event) => {
          setTyped(event.target.value);
          onSet({ value: read(event.target.value, one.test) });
        }}
      />
      <IconButton label="Remove the condition" onClick={onRemove}>
        <Trash2 size={14} aria-hidden="true" />
      </IconButton>
    </div>
  );
}

/** `5` is not `"5"`: how the value is understood. */
function kind(value: unknown): string {
  const name = Array.isArray(value)
    ? "a list"
    : value === null
      ? "null"
      : value instanceof Written
        ? "a number"
        : `a ${typeof value}`;
  return `${name.replace("a object", "an object").replace("a string", "a text")}: ${visible(write(value)).slice(0, 60)}`;
}

function written({ test, value }: Condition): string {
  if (typeof value !== "string") return write(value);
  return test === "matches" || read(value, test) === value ? value : write(value);
}

/** JSON where it is some; else a text, or a list of texts. */
function read(text: string, test: Test): unknown {
  if (test === "matches") return text;
  if (test === "one_of" && !text.trimStart().startsWith("[")) return text.split(",").map((part) => parsed(part.trim()));
  return parsed(text);
}

function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return text;
  }
}
