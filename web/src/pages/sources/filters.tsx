import type { ReactNode } from "react";
import { visible } from "@/text/visible";
import { TextArea } from "@/ui/field";
import type { Preview } from "./queries";

/** Filters as they are typed: one a line. */
export type Typed = { include: string; exclude: string };
export const NO_FILTERS: Typed = { include: "", exclude: "" };

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

export const filtersOf = ({ include, exclude }: Typed) => ({ include: lines(include), exclude: lines(exclude) });

export const typedOf = (choice: { include: string[]; exclude: string[] } | null | undefined): Typed => ({
  include: choice?.include.join("\n") ?? "",
  exclude: choice?.exclude.join("\n") ?? "",
});

export const optionsOf = (typed: Typed) => {
  const { include, exclude } = filtersOf(typed);
  return [...include.flatMap((one) => ["--include", one]), ...exclude.flatMap((one) => ["--exclude", one])];
};

type Props = { kind: string; typed: Typed; onType: (typed: Typed) => void; groups?: Preview["groups"] };

const EXAMPLES: Record<string, { include: string; exclude: string }> = {
  openapi: { include: "tag:issues\npath:/repos/**", exclude: "method:DELETE\nadmin.**" },
  graphql: { include: "method:query", exclude: "mutation.delete*" },
};
const NAMES = { include: "read_*", exclude: "delete_*" };

/** Which tools are wanted, by what they can be chosen by. */
export function FilterFields({ kind, typed, onType, groups = [] }: Props) {
  const example = EXAMPLES[kind] ?? NAMES;
  const add = (filter: string) => onType({ ...typed, include: [...lines(typed.include), filter].join("\n") });
  const field = (name: keyof Typed) => ({
    value: typed[name],
    rows: 3,
    spellCheck: false,
    className: "font-mono text-xs",
    placeholder: example[name],
    onChange: (event: { target: { value: string } }) => onType({ ...typed, [name]: event.target.value }),
  });
  return (
    <div className="space-y-3">
      <div className="grid gap-3 sm:grid-cols-2">
        <TextArea label="Include" {...field("include")} hint="One filter per line. Empty means all tools." />
        <TextArea label="Exclude" {...field("exclude")} hint="Excludes matching tools." />
      </div>
      {groups.length > 0 && <Groups groups={groups} taken={lines(typed.include)} onAdd={add} />}
    </div>
  );
}

const SHOWN = 30;

function Groups({
  groups,
  taken,
  onAdd,
}: {
  groups: Preview["groups"];
  taken: string[];
  onAdd: (filter: string) => void;
}): ReactNode {
  const open = groups.filter((one) => !taken.includes(one.filter)).slice(0, SHOWN);
  return (
    <ul aria-label="Filters to include" className="flex flex-wrap gap-1.5">
      {open.map((one) => (
        <li key={one.filter} className="min-w-0">
          <button
            type="button"
            onClick={() => onAdd(one.filter)}
            className="max-w-full truncate rounded-md border border-line bg-surface px-2 py-0.5 font-mono text-xs hover:border-strong"
          >
            {visible(one.filter)} <span className="text-dim">{one.tools.toLocaleString("en")}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
