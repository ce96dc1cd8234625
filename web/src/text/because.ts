const SAYS: Record<string, string> = { allow: "allows it", require_approval: "requires approval", deny: "denies it" };

/** Why a call was decided so, for people: a policy or the default of a source is named, with what it says. */
export function because(reason: string): string {
  const [, source, own] = reason.match(/^the (default of the source .+) → (allow|require_approval|deny)$/) ?? [];
  if (source && own) return `The ${source} ${SAYS[own]}`;
  const [, policy, condition, action] =
    reason.match(/^policy (.+?)( with \d+ condition\(s\))? → (allow|require_approval|deny)$/) ?? [];
  return policy && action ? `The policy ${policy}${condition ? ", with its conditions," : ""} ${SAYS[action]}` : reason;
}
