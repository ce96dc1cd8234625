const SAYS: Record<string, string> = { allow: "allows it", require_approval: "requires approval", deny: "denies it" };

/** Why a call was decided so, for people: a policy is named, with what it says. */
export function because(reason: string): string {
  const [, rule, condition, action] =
    reason.match(/^policy (.+?)( with \d+ condition\(s\))? → (allow|require_approval|deny)$/) ?? [];
  return rule && action ? `The policy ${rule}${condition ? ", with its conditions," : ""} ${SAYS[action]}` : reason;
}
