// A policy as it is written on a command line.
import { write } from "@/api/json";
import type { Policy } from "@/api/types";
import { command } from "@/text/code";

export type Draft = {
  pattern: string;
  action: Policy["action"];
  conditions: Policy["conditions"];
  actor: string;
  source: string;
  effect: Policy["effect"];
  note: string;
  level: "organization" | "workspace";
};

const SIGNS = { equals: "=", one_of: " in ", matches: "~", at_most: "<=", at_least: ">=" };

export function condition({ path, test, value }: Policy["conditions"][number]): string {
  return `${path}${SIGNS[test]}${test === "matches" ? String(value) : write(value)}`;
}

function options(rule: Draft): string[] {
  return [
    ...rule.conditions.flatMap((one) => ["--when", condition(one)]),
    ...(rule.actor ? ["--actor", rule.actor] : []),
    ...(rule.source ? ["--source", rule.source] : []),
    ...(rule.effect ? ["--effect", rule.effect] : []),
    ...(rule.note ? ["--note", rule.note] : []),
  ];
}

/** `position` where it is not the last. */
export function addCommand(rule: Draft, position?: number): string {
  const level = rule.level === "organization" ? ["--level", rule.level] : [];
  const place = position === undefined ? [] : ["--position", String(position)];
  return command("policies", "add", rule.pattern, rule.action, ...options(rule), ...level, ...place);
}

/** The same policy once more, with names where they are known. */
export function draftOf(rule: Policy): Draft {
  return {
    pattern: rule.pattern,
    action: rule.action,
    conditions: rule.conditions,
    actor: rule.actor ?? "",
    source: rule.source ?? "",
    effect: rule.effect,
    note: rule.note,
    level: rule.level === "organization" ? "organization" : "workspace",
  };
}

export function changeCommand(id: string, rule: Draft): string {
  const parts = ["--pattern", rule.pattern, "--action", rule.action];
  const none = rule.conditions.length === 0 ? ["--unconditional"] : [];
  return command("policies", "change", id, ...parts, ...none, ...options(rule));
}
