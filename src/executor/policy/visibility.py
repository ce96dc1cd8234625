"""What a workspace's policies leave to be found: a tool that is always denied is not shown to anyone who searches."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from executor.model.policy import Action, Policy
from executor.policy.decide import ALL, LEVELS
from executor.policy.pattern import parse_pattern

Rule = tuple[tuple[str, ...], Action, bool]


@dataclass(frozen=True, slots=True)
class Visibility:
    """The same decision as `decide` makes, for a hundred thousand paths in one go.

    A tool is hidden only if every call of it is denied, whoever makes it and with whatever arguments. `rules` are those
    of each level that has any: the pattern, the action, and whether it holds without further conditions.
    """

    rules: tuple[tuple[Rule, ...], ...]

    @property
    def key(self) -> Hashable:
        return self.rules

    def hides(self, path: str) -> bool:
        if path.endswith(ALL) and self.hides(path.removesuffix(ALL)):
            return True
        given = tuple(path.split("."))
        return any(denied(rules, given) for rules in self.rules)


def visibility(policies: Sequence[Policy]) -> Visibility | None:
    """None when nothing is denied."""
    if not any(policy.action == "deny" for policy in policies):
        return None
    levels = (tuple(rule_of(policy) for policy in policies if policy.level == level) for level in LEVELS)
    return Visibility(tuple(rules for rules in levels if rules))


def rule_of(policy: Policy) -> Rule:
    plain = not (policy.conditions or policy.actor_id or policy.source_id or policy.effect)
    return parse_pattern(policy.pattern), policy.action, plain


def denied(rules: Sequence[Rule], given: tuple[str, ...]) -> bool:
    """A rule with conditions may or may not hold: one that denies leaves it open, any other shows the tool."""
    for wanted, action, plain in rules:
        if covers(wanted, given) and (plain or action != "deny"):
            return plain and action == "deny"
    return False


def covers(wanted: tuple[str, ...], given: tuple[str, ...]) -> bool:
    if wanted[-1] == "**":
        wanted = wanted[:-1]
        if len(given) <= len(wanted):
            return False
    elif len(given) != len(wanted):
        return False
    return all(want in ("*", give) for want, give in zip(wanted, given, strict=False))
