// What tells questions about the same tool apart.
import { isNested, write } from "@/api/json";
import type { Interaction } from "@/api/types";
import { cut } from "@/text/cut";
import { visible } from "@/text/visible";

export type Group = { key: string; items: Interaction[] };

/** Those that one actor asks about one tool stand together, where the first of them stands. */
export function grouped(items: Interaction[]): Group[] {
  const groups = new Map<string, Group>();
  for (const one of items) {
    const key = write([one.tool, one.actorId, one.kind, one.status]);
    const known = groups.get(key);
    if (known) known.items.push(one);
    else groups.set(key, { key, items: [one] });
  }
  return [...groups.values()];
}

/** The arguments in one line; of several questions only those that differ. */
export function gist(one: Interaction, others: Interaction[] = []): string {
  const given = fields(one.arguments);
  const differing = given.filter(([name, value]) =>
    others.some((other) => fields(other.arguments).find(([known]) => known === name)?.[1] !== value),
  );
  const shown = differing.length > 0 ? differing : given;
  return cut(visible(shown.map(([name, value]) => `${name}: ${cut(value, 100)}`).join(", ")), 160);
}

function fields(value: unknown): [string, string][] {
  return isNested(value) ? Object.entries(value).map(([name, part]) => [name, write(part)]) : [];
}
