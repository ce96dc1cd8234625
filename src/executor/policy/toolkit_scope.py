"""Which tools a toolkit has: those that its patterns cover and its policies don't always deny."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from executor.model.tool import ALL
from executor.model.toolkit import Toolkit
from executor.policy.pattern import parse_pattern
from executor.policy.visibility import CompiledPolicy, compile_policy, covers, is_denied

# Executor's own tools that every toolkit has. The others administer, so none has them, whatever its patterns cover.
OWN = ("discover", "describe", "executor")
KEPT = (("discover",), ("describe", "tool"), ("executor", "artifacts", "**"))


@dataclass(frozen=True)
class ToolkitScope:
    """Without patterns, it has nothing of the catalog: a toolkit that was removed."""

    patterns: tuple[tuple[str, ...], ...] = ()
    policies: tuple[CompiledPolicy, ...] = ()

    @cached_property
    def _exact(self) -> frozenset[tuple[str, ...]]:
        return frozenset(pattern for pattern in self.patterns if not {"*", "**"} & set(pattern))

    @cached_property
    def _open(self) -> dict[str, list[tuple[str, ...]]]:
        """Patterns with a `*`, by the namespace that they are about. Searches look at every tool that there is."""
        found: dict[str, list[tuple[str, ...]]] = {}
        for pattern in self.patterns:
            if pattern not in self._exact:
                found.setdefault("*" if pattern[0] == "**" else pattern[0], []).append(pattern)
        return found

    def _covers(self, given: tuple[str, ...]) -> bool:
        near = (*self._open.get("*", ()), *self._open.get(given[0], ()))
        return given in self._exact or any(covers(pattern, given) for pattern in near)

    def hides(self, path: str, effect: str = "") -> bool:
        given = tuple(path.split("."))
        if given[0] in OWN:
            return not any(covers(kept, given) for kept in KEPT)
        return not self._covers(given) or self.denies(path, effect)

    def denies(self, path: str, effect: str = "") -> bool:
        """`x.all` reads every page of `x`, so it is denied with it."""
        if path.endswith(ALL) and self.denies(path.removesuffix(ALL), effect):
            return True
        return is_denied(self.policies, tuple(path.split(".")), effect)

    def has_whole(self, namespace: str) -> bool:
        """Whether nothing of a source is outside of it, not even what has no tool."""
        whole = any(pattern in (("**",), (namespace, "**"), ("*", "**")) for pattern in self.patterns)
        return whole and not any(
            policy.action == "deny" and policy.pattern[0] in (namespace, "*", "**") for policy in self.policies
        )


def scope_of(toolkit: Toolkit) -> ToolkitScope:
    compiled = tuple(compile_policy(one, "", {}) for one in toolkit.policies)
    return ToolkitScope(tuple(parse_pattern(one) for one in toolkit.patterns), compiled)
