import type { Effect, Policy } from "@/api/types";

export type PolicyDraft = Pick<Policy, "pattern" | "action" | "conditions" | "note"> & {
  actor: string;
  source: string;
  effect: Effect | null;
  level: "organization" | "workspace";
};

export type Answer =
  | { act: "approve"; scope: "once" | "execution" | "session" }
  | { act: "approve"; scope: "always"; rule: PolicyDraft; broader: boolean }
  | { act: "approve"; treatAsRead: true }
  | { act: "approve"; result: unknown }
  | { act: "deny"; reason: string };

/** A policy as it is sent, of one as it is shown. */
export function draftOf(policy: Policy): PolicyDraft {
  const { pattern, action, conditions, effect, note, level } = policy;
  const names = { actor: policy.actorId ?? "", source: policy.sourceId ?? "" };
  return { pattern, action, conditions, effect, note, level: level === "organization" ? level : "workspace", ...names };
}
