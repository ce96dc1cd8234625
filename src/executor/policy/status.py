"""The status of each policy: whether anything is left for it, and why it did not decide about a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from executor.dataclass import dataclass
from executor.model.policy import Condition, Policy
from executor.policy.conditions import MISSING, holds, resolve
from executor.policy.decide import LEVELS, Subject, decide, first, judged_as, of_level, restraint
from executor.policy.drafts import condition_text
from executor.policy.pattern import matches, parse_pattern

# decides · outdone: the first of its level, but another level is stricter · later: one above it holds · no: it does not
Verdict = Literal["decides", "outdone", "later", "no"]


@dataclass(frozen=True, slots=True)
class PolicyStatus:
    policy: Policy
    verdict: Verdict
    why: str = ""
    possible: bool = False


def explain(subject: Subject, policies: Sequence[Policy]) -> list[PolicyStatus]:
    """What became of every policy when a call was judged. It is `decide` that judges; this only reports.

    Approval defaults of sources are left out: the reason of the decision names the one that decided.

    `possible` are those that could decide a call of the same tool, made by someone else or with other arguments.
    """
    deciding, subjects = decide(subject, policies).policy_id, list(judged_as(subject))
    firsts = [first(one, of_level(policies, level)) for one in subjects for level in LEVELS]
    leading = {found.policy_id for found in firsts if found is not None}
    reaching = candidates(subjects, policies)
    return [
        replace(status_of(policy, subjects, deciding, leading), possible=policy.id in reaching)
        for policy in policies
        if policy.level in LEVELS
    ]


def candidates(subjects: Sequence[Subject], policies: Sequence[Policy]) -> set[str]:
    """At each level everything about the tool, down to the first policy that takes every call of it."""
    found: set[str] = set()
    for level in LEVELS:
        for policy in of_level(policies, level):
            covered = [not out_of_reach(policy, subject) for subject in subjects]
            if any(covered):
                found.add(policy.id)
            if all(covered) and not policy.conditions and not policy.actor_id:
                break
    return found


def status_of(policy: Policy, subjects: Sequence[Subject], deciding: str, leading: set[str]) -> PolicyStatus:
    if policy.id == deciding:
        return PolicyStatus(policy, "decides")
    if policy.id in leading:
        return PolicyStatus(policy, "outdone", "it applies, but a policy of another level is stricter or comes first")
    reasons = [why_not(policy, subject) for subject in subjects]
    if "" in reasons:
        return PolicyStatus(policy, "later", "it applies, but a policy above it comes first")
    return PolicyStatus(policy, "no", reasons[0])


def why_not(policy: Policy, subject: Subject) -> str:
    """Empty where `applies` says that the policy holds."""
    if why := out_of_reach(policy, subject):
        return why
    if policy.actor_id not in ("", subject.actor_id):
        return "it is for another actor"
    return next(filter(None, (unmet(one, policy, subject) for one in policy.conditions)), "")


def out_of_reach(policy: Policy, subject: Subject) -> str:
    """Why the policy can't apply to any call of the tool; empty if it can."""
    if not matches(policy.pattern, subject.path):
        return "its pattern does not match the path"
    if policy.action == "allow" and (why := restraint(policy, subject)):
        return why
    if policy.source_id not in ("", subject.source_id):
        return "it is for another source"
    if policy.effect not in ("", subject.effect):
        return f"it is for effect {policy.effect}, but this tool's effect is {subject.effect}"
    return ""


def unmet(condition: Condition, policy: Policy, subject: Subject) -> str:
    """Doubt keeps only an `allow` from holding."""
    verdict = None if subject.arguments is None else holds(condition, subject.arguments)
    if verdict is False:
        return f"{condition_text(condition)} does not hold"
    if verdict is True or policy.action != "allow":
        return ""
    if subject.arguments is None:
        return f"{condition_text(condition)} can't be judged without arguments"
    there = resolve(subject.arguments, condition.path) is not MISSING
    doubt = "the value there has another type" if there else "there is no value"
    return f"{condition_text(condition)} can't be judged: {doubt}"


def find_shadowed(policies: Sequence[Policy]) -> dict[str, str]:
    """Of each policy that can never decide: which one of its level, above it, takes every call it is about."""
    found: dict[str, str] = {}
    for level in LEVELS:
        above: list[Policy] = []
        for policy in of_level(policies, level):
            taking = next((one for one in above if takes_all(one, policy)), None)
            if taking is not None:
                found[policy.id] = taking.id
            above.append(policy)
    return found


def takes_all(one: Policy, other: Policy) -> bool:
    """Whether `one` holds wherever `other` does. An `allow` with conditions leaves what is in doubt to a stricter one
    below it."""
    if one.retired_at is not None or one.excluded or one.made_for is not None:
        return False
    for wanted, given in ((one.actor_id, other.actor_id), (one.source_id, other.source_id), (one.effect, other.effect)):
        if wanted not in ("", given):
            return False
    if one.conditions and one.action == "allow" and other.action != "allow":
        return False
    fewer = set(map(condition_text, one.conditions)) <= set(map(condition_text, other.conditions))
    return fewer and contains(parse_pattern(one.pattern), parse_pattern(other.pattern))


def contains(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether a pattern covers every path that another covers."""
    if one[-1] != "**":
        return len(one) == len(other) and other[-1] != "**" and fits(one, other)
    if other[-1] == "**":
        return len(one) <= len(other) and fits(one[:-1], other[:-1])
    return len(one) <= len(other) and fits(one[:-1], other)


def fits(wanted: Sequence[str], given: Sequence[str]) -> bool:
    return all(want in ("*", give) for want, give in zip(wanted, given, strict=False))
