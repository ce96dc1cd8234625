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

function options(policy: Draft): string[] {
  return [
    ...policy.conditions.flatMap((one) => ["--when", condition(one)]),
    ...(policy.actor ? ["--actor", policy.actor] : []),
    ...(policy.source ? ["--source", policy.source] : []),
    ...(policy.effect ? ["--effect", policy.effect] : []),
    ...(policy.note ? ["--note", policy.note] : []),
  ];
}

/** `position` where it is not the last. */
export function addCommand(policy: Draft, position?: number): string {
  const level = policy.level === "organization" ? ["--level", policy.level] : [];
  const place = position === undefined ? [] : ["--position", String(position)];
  return command("policies", "add", policy.pattern, policy.action, ...options(policy), ...level, ...place);
}

/** The same policy once more, with names where they are known. */
export function draftOf(policy: Policy): Draft {
  return {
    pattern: policy.pattern,
    action: policy.action,
    conditions: policy.conditions,
    actor: policy.actor ?? "",
    source: policy.source ?? "",
    effect: policy.effect,
    note: policy.note,
    level: policy.level === "organization" ? "organization" : "workspace",
  };
}

export function changeCommand(id: string, policy: Draft): string {
  const parts = ["--pattern", policy.pattern, "--action", policy.action];
  const none = policy.conditions.length === 0 ? ["--unconditional"] : [];
  return command("policies", "change", id, ...parts, ...none, ...options(policy));
}
