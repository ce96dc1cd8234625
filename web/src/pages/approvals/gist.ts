// What distinguishes requests about the same tool.
import { isNested, write } from "@/api/json";
import type { Interaction } from "@/api/types";
import { cut } from "@/text/cut";
import { visible } from "@/text/visible";

export type Group = { key: string; items: Interaction[] };

/** Those of one actor about one tool, alike in everything but their arguments, where the first of them is. */
export function grouped(items: Interaction[]): Group[] {
  const groups = new Map<string, Group>();
  for (const one of items) {
    const key = likeness(one);
    const known = groups.get(key);
    if (known) known.items.push(one);
    else groups.set(key, { key, items: [one] });
  }
  return [...groups.values()];
}

/** Whatever else a decision is about is the same in all of a group. */
export function likeness(one: Interaction): string {
  const { tool, actorId, kind, status, effect, host, sentWith, connection, source, reason, policyId } = one;
  const { origin, changed, rules, credential, waitsFor, refusal } = one;
  return write([
    [tool, actorId, kind, status, effect, host, sentWith, connection, source, reason, policyId],
    [origin, changed, rules, credential, waitsFor, refusal?.code],
  ]);
}

/** Whether several can be decided together: plain calls of tools. Anything rarer is looked at one by one. */
export function isPlain(one: Interaction): boolean {
  return one.kind === "approval" && !one.changed && !one.rules?.length && !one.tool.startsWith("executor.");
}

/** The arguments in one line, or what a server asks; of several requests only those that differ. */
export function gist(one: Interaction, others: Interaction[] = []): string {
  if (one.elicitation) return cut(visible(one.elicitation.message.replaceAll("\n", " ")), 160);
  const given = fields(one.arguments);
  const differing = given.filter(([name, value]) =>
    others.some((other) => fields(other.arguments).find(([known]) => known === name)?.[1] !== value),
  );
  const shown = differing.length > 0 ? differing : given;
  return cut(visible(shown.map(([name, value]) => `${name}: ${cut(value, 100)}`).join(", ")), 160);
}

/** The names of the arguments that are not the same in all of them. */
export function differing(items: readonly Interaction[]): Set<string> {
  const [first, ...others] = items.map((one) => new Map(fields(one.arguments)));
  const names = new Set(items.flatMap((one) => fields(one.arguments).map(([name]) => name)));
  return new Set([...names].filter((name) => others.some((other) => other.get(name) !== first?.get(name))));
}

export function fields(value: unknown): [string, string][] {
  return isNested(value) ? Object.entries(value).map(([name, part]) => [name, write(part)]) : [];
}
