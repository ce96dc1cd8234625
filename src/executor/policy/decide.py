"""What happens to a call: at each level the first policy that holds decides, and the strictest level wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, get_args

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.model.policy import Action, Basis, Decision, Level, MadeFor, Policy
from executor.model.tool import ALL, Effect
from executor.policy.conditions import holds
from executor.policy.pattern import matches

STRICTNESS: dict[Action, int] = {"allow": 0, "require_approval": 1, "deny": 2}
MAX_NAMED = 20
BASES: dict[Basis, str] = {
    "always": "",
    "read": "treated as a read",
    "hints": "trusted as a read because the server says so",
}
LEVELS: tuple[Level, ...] = ("organization", "workspace")


@dataclass(frozen=True, slots=True)
class Subject:
    """The call that is judged. Without `arguments` (a tool looked at, not called) no condition can be judged.

    `parts` are the calls that it makes besides: those of the fields in a GraphQL document.
    `schema_digest` and `destination` are those of the tool now; of a past call they may not be known. `own_path` is the
    path that the tool's source gives it, if people gave it another one.
    """

    path: str
    effect: Effect
    source_id: str = ""
    actor_id: str = ""
    arguments: Mapping[str, Any] | None = field(default=None)
    parts: tuple[Subject, ...] = ()
    schema_digest: str | None = None
    destination: str | None = None
    own_path: str = ""


def decide(subject: Subject, policies: Sequence[Policy]) -> Decision:
    """An organization's policy can only be tightened by a workspace's, and all of it by a toolkit's.

    Without any policy, the approval defaults of the source decide, and without these the effect: reads are allowed and,
    by the policies that say so, what people take for reads; all else needs approval.
    `x.all` walks the pages of `x`: it is judged as both, and the stricter decision holds, so that a policy about `x`
    can't be dodged by the longer name. In the same way a policy about the source's own name applies to a tool that was
    renamed; only one about its present name allows it.
    Policies about the parts of a call apply to the call too; a default of theirs can't outdo one about the call itself.
    """
    whole, *parts = [_decide(one, policies) for one in (*names_of(subject), *subject.parts)]
    if whole.policy_id and subject.parts:
        parts = [decision for decision in parts if decision.policy_id]
    named = [found for one in own_names_of(subject) if (found := _decide(one, policies)).policy_id]
    decision = strictest([whole, *parts, *named, *narrow(subject, policies)])
    if not subject.parts:
        return decision
    names = ", ".join(dict.fromkeys(part.path for part in subject.parts[:MAX_NAMED]))
    more = f" and {len(subject.parts) - MAX_NAMED} more" if len(subject.parts) > MAX_NAMED else ""
    return replace(decision, reason=f"{decision.reason}; the document calls {names}{more}")


def narrow(subject: Subject, policies: Sequence[Policy]) -> list[Decision]:
    """What the policies of a toolkit say of a call, whatever else was decided: beside that, they can't loosen it."""
    own = of_level(policies, "toolkit")
    return [found for one in judged_as(subject) if (found := first(one, own)) is not None] if own else []


def judged_as(subject: Subject) -> Iterator[Subject]:
    yield from names_of(subject)
    yield from own_names_of(subject)
    for part in subject.parts:
        yield part
        yield from own_names_of(part)


def names_of(subject: Subject) -> Iterator[Subject]:
    yield subject
    if subject.path.endswith(ALL):
        yield replace(subject, path=subject.path.removesuffix(ALL))


def own_names_of(subject: Subject) -> Iterator[Subject]:
    if subject.own_path:
        yield from names_of(replace(subject, path=subject.own_path, own_path=""))


def _decide(subject: Subject, policies: Sequence[Policy]) -> Decision:
    decided = [found for level in LEVELS if (found := first(subject, of_level(policies, level))) is not None]
    if decided:
        return strictest(decided)
    taken = None
    if subject.effect != "read":
        taken = next((one for one in policies if one.is_about_reads and applies(one, subject)), None)
    own = source_default(subject if taken is None else replace(subject, effect="read"), policies)
    if own is not None and not (taken is not None and own.action == "allow"):
        return own
    if taken is not None:
        return Decision("allow", taken.id, describe_policy(taken))
    if subject.effect == "read":
        return Decision("allow", "", "reads are allowed by default")
    what = "a write" if subject.effect == "write" else "a destructive call"
    return Decision("require_approval", "", f"{what} needs approval by default")


def source_default(subject: Subject, policies: Sequence[Policy]) -> Decision | None:
    """Without the id of a policy: like any default, it gives way to a policy about the call."""
    found = first(subject, of_level(policies, "source"))
    return replace(found, policy_id="") if found is not None else None


def strictest(decisions: Sequence[Decision]) -> Decision:
    return max(decisions, key=lambda decision: STRICTNESS[decision.action])


def of_level(policies: Iterable[Policy], level: Level) -> list[Policy]:
    return [policy for policy in policies if policy.level == level]


def first(subject: Subject, policies: Iterable[Policy]) -> Decision | None:
    for policy in policies:
        if not policy.is_about_reads and applies(policy, subject):
            return Decision(policy.action, policy.id, describe_policy(policy))
    return None


def applies(policy: Policy, subject: Subject) -> bool:
    """Doubt about a condition never loosens: it keeps an `allow` from applying, and lets anything stricter apply.

    So a `deny` when `/amount` is at least 100 also denies a call without an amount, or with one that is no number.
    """
    if not matches(policy.pattern, subject.path) or (policy.action == "allow" and restraint(policy, subject)):
        return False
    for wanted, given in (
        (policy.actor_id, subject.actor_id),
        (policy.source_id, subject.source_id),
        (policy.effect, subject.effect),
    ):
        if wanted and wanted != given:
            return False
    judged = [None if subject.arguments is None else holds(one, subject.arguments) for one in policy.conditions]
    if policy.action == "allow":
        return all(verdict is True for verdict in judged)
    return all(verdict is not False for verdict in judged)


def restraint(policy: Policy, subject: Subject) -> str:
    """Why a policy that allows does not apply to this tool, whatever its pattern covers; empty if it does."""
    if policy.retired_at is not None:
        return "it is retired: its source was removed"
    if subject.source_id in policy.excluded:
        return "the source was added later and does not inherit it"
    if policy.made_for is not None and is_other(policy.made_for, subject):
        return "the tool has changed since it was created"
    return ""


def is_other(made_for: MadeFor, subject: Subject) -> bool:
    return (subject.schema_digest is not None and subject.schema_digest not in made_for.digests) or (
        subject.destination is not None and subject.destination != made_for.destination
    )


def find_outdated(subject: Subject, policies: Iterable[Policy]) -> Policy | None:
    """The policy that would allow the call if the tool were still the one it was created for."""
    for policy in policies:
        if policy.made_for is None or not is_other(policy.made_for, subject):
            continue
        if policy.action == "allow" and applies(replace(policy, made_for=None), subject):
            return policy
    return None


def describe_policy(policy: Policy) -> str:
    if policy.level == "source":
        namespace = policy.pattern.partition(".")[0]
        return f"the default of the source {namespace} for {policy.effect} calls → {policy.action}"
    level = "" if policy.level == "workspace" else f"{policy.level} "
    conditions = f" with {len(policy.conditions)} condition(s)" if policy.conditions else ""
    because = f" ({BASES[policy.made_for.basis]})" if policy.is_about_reads and policy.made_for else ""
    return f"{level}policy {policy.pattern}{conditions} → {policy.action}{because}"


def parse_action(text: str) -> Action:
    for action in get_args(Action):
        if text == action:
            return text  # type: ignore[return-value]  # equal to one of the literals
    raise InvalidRequest(f"unknown action {text!r}", hint="use allow, require_approval or deny")
