// A toolkit as the form holds it: texts with one pattern on each line.
import type { Toolkit } from "@/api/types";
import { command } from "@/text/code";

export type Draft = Record<"slug" | "name" | "description" | "patterns" | "deny" | "ask" | "passThrough", string>;

type Policy = Toolkit["policies"][number];

const isPlain = (policy: Policy) => policy.conditions.length === 0 && !policy.effect && !policy.note;

function patternsOf(toolkit: Toolkit | undefined, action: string): string {
  const found = (toolkit?.policies ?? []).filter((one) => isPlain(one) && one.action === action);
  return found.map(({ pattern }) => pattern).join("\n");
}

export function draftOf(toolkit?: Toolkit): Draft {
  return {
    slug: toolkit?.slug ?? "",
    name: toolkit && toolkit.name !== toolkit.slug ? toolkit.name : "",
    description: toolkit?.description ?? "",
    patterns: (toolkit?.patterns ?? []).join("\n"),
    deny: patternsOf(toolkit, "deny"),
    ask: patternsOf(toolkit, "require_approval"),
    passThrough: (toolkit?.passThrough ?? []).join("\n"),
  };
}

/** Without empty ones; people also put a comma between two. */
export function linesOf(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter(Boolean);
}

type Sent = Pick<Policy, "pattern" | "conditions" | "effect" | "note"> & { action: "deny" | "require_approval" };

/** Those that deny come first, since the first that applies decides; what has no field stays as it was. */
export function policiesOf(draft: Draft, toolkit?: Toolkit): Sent[] {
  const plain = (action: Sent["action"], text: string): Sent[] =>
    linesOf(text).map((pattern) => ({ pattern, action, conditions: [], effect: null, note: "" }));
  const kept = (toolkit?.policies ?? []).filter((one) => !isPlain(one));
  const others = kept.map(({ pattern, action, conditions, effect, note }) => ({
    ...{ pattern, conditions, effect, note },
    action: action as Sent["action"],
  }));
  return [...plain("deny", draft.deny), ...others, ...plain("require_approval", draft.ask)];
}

/** The same in a terminal. */
export function commandOf(draft: Draft): string {
  const options = { "--deny": draft.deny, "--ask": draft.ask, "--pass-through": draft.passThrough };
  const given = Object.entries(options).flatMap(([name, text]) => linesOf(text).flatMap((pattern) => [name, pattern]));
  const named = Object.entries({ "--name": draft.name, "--description": draft.description }).filter(([, text]) => text);
  return command("toolkits", "add", draft.slug || "SLUG", ...linesOf(draft.patterns), ...given, ...named.flat());
}
