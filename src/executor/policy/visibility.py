"""What a workspace's policies leave to be found: a tool that is always denied is not shown to anyone who searches."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from executor.model.policy import Action, Policy
from executor.policy.pattern import parse_pattern


@dataclass(frozen=True, slots=True)
class Visibility:
    """The same decision as `decide` makes, for a hundred thousand paths in one go."""

    rules: tuple[tuple[tuple[str, ...], Action], ...]

    @property
    def key(self) -> Hashable:
        return self.rules

    def hides(self, path: str) -> bool:
        given = tuple(path.split("."))
        for wanted, action in self.rules:
            if covers(wanted, given):
                return action == "deny"
        return False


def visibility(policies: Sequence[Policy]) -> Visibility | None:
    """None when nothing is denied."""
    if not any(policy.action == "deny" for policy in policies):
        return None
    return Visibility(tuple((parse_pattern(policy.pattern), policy.action) for policy in policies))


def covers(wanted: tuple[str, ...], given: tuple[str, ...]) -> bool:
    if wanted[-1] == "**":
        wanted = wanted[:-1]
        if len(given) <= len(wanted):
            return False
    elif len(given) != len(wanted):
        return False
    return all(want in ("*", give) for want, give in zip(wanted, given, strict=False))
