"""What a workspace's policies leave to be found: a tool that is always denied to an actor is not shown to it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from executor.dataclass import dataclass
from executor.model.policy import Action, Level, Policy
from executor.model.tool import ALL
from executor.policy.decide import LEVELS
from executor.policy.pattern import parse_pattern

if TYPE_CHECKING:
    from executor.policy.toolkit_scope import ToolkitScope

NO_NAMESPACES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """`plain` if it applies to whatever arguments. With a `namespace` or an `effect` it applies to those tools only."""

    pattern: tuple[str, ...]
    action: Action
    plain: bool
    namespace: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Visibility:
    """The same decision as `decide` makes, for a hundred thousand paths in one go.

    A tool is hidden only if every call of it is denied, with whatever arguments. `policies` are those of each level
    that has any. `defaults` are those of sources; they decide where nothing of `policies` or `reads` can. Without the
    tool's effect, a policy about effects leaves it open. `own_paths` maps the current path of each tool that people
    renamed to the path that its source gives it. What is not in the `toolkit`, if there is one, is hidden.
    """

    policies: tuple[tuple[CompiledPolicy, ...], ...]
    own_paths: Mapping[str, str] = field(default_factory=dict)
    defaults: tuple[CompiledPolicy, ...] = ()
    reads: tuple[CompiledPolicy, ...] = ()
    toolkit: ToolkitScope | None = None

    @property
    def key(self) -> Hashable:
        return self.policies, tuple(self.own_paths.items()), self.defaults, self.reads, self.toolkit

    def hides(self, path: str, effect: str = "") -> bool:
        if self.toolkit is not None and self._is_outside(self.toolkit, path, effect):
            return True
        if (own := self.own_paths.get(path)) is not None and self._denies(own, effect):
            return True
        return self._denies(path, effect) or (bool(self.defaults) and self._defaults_deny(path, effect))

    def _is_outside(self, toolkit: ToolkitScope, path: str, effect: str) -> bool:
        own = self.own_paths.get(path)
        return toolkit.hides(path, effect) or (own is not None and toolkit.denies(own, effect))

    def _denies(self, path: str, effect: str) -> bool:
        if path.endswith(ALL) and self._denies(path.removesuffix(ALL), effect):
            return True
        given = tuple(path.split("."))
        return any(is_denied(level, given, effect) for level in self.policies)

    def _defaults_deny(self, path: str, effect: str) -> bool:
        if path.endswith(ALL) and self._defaults_deny(path.removesuffix(ALL), effect):
            return True
        given = tuple(path.split("."))
        deciding = (one for level in (*self.policies, self.reads) for one in level)
        return is_denied(self.defaults, given, effect) and not any(reaches(one, given, effect) for one in deciding)


def visibility_of(
    policies: Sequence[Policy],
    actor_id: str = "",
    namespaces: Mapping[str, str] = NO_NAMESPACES,
    own_paths: Mapping[str, str] = NO_NAMESPACES,
    toolkit: ToolkitScope | None = None,
) -> Visibility | None:
    """For one actor, or for any actor. `namespaces` are those of the sources that policies name, by id.

    None when nothing is denied and there is no toolkit.
    """
    mine = [one for one in policies if not (actor_id and one.actor_id and one.actor_id != actor_id)]
    if toolkit is None and not any(policy.action == "deny" for policy in mine):
        return None
    current = [one for one in mine if is_of_use(one, namespaces)]

    def compile_level(level: Level, *, reads: bool = False) -> tuple[CompiledPolicy, ...]:
        found = (one for one in current if one.level == level and one.is_about_reads == reads)
        return tuple(compile_policy(one, actor_id, namespaces) for one in found)

    levels = tuple(found for level in LEVELS if (found := compile_level(level)))
    reads = compile_level("workspace", reads=True)
    return Visibility(levels, own_paths, compile_level("source"), reads, toolkit)


def is_of_use(policy: Policy, namespaces: Mapping[str, str]) -> bool:
    """A policy about a source that is gone applies to nothing."""
    return not namespaces or not policy.source_id or policy.source_id in namespaces


def compile_policy(policy: Policy, actor_id: str, namespaces: Mapping[str, str]) -> CompiledPolicy:
    namespace = namespaces.get(policy.source_id, "")
    doubtful = policy.conditions or (policy.actor_id and not actor_id) or (policy.source_id and not namespace)
    return CompiledPolicy(parse_pattern(policy.pattern), policy.action, not doubtful, namespace, policy.effect)


def is_denied(policies: Sequence[CompiledPolicy], given: tuple[str, ...], effect: str) -> bool:
    """A policy that may or may not hold: one that denies leaves it open, any other shows the tool."""
    for policy in policies:
        if not reaches(policy, given, effect):
            continue
        plain = policy.plain and (not policy.effect or effect != "")
        if plain or policy.action != "deny":
            return plain and policy.action == "deny"
    return False


def reaches(policy: CompiledPolicy, given: tuple[str, ...], effect: str) -> bool:
    if not covers(policy.pattern, given) or (policy.namespace and policy.namespace != given[0]):
        return False
    return not (policy.effect and effect and policy.effect != effect)


def covers(wanted: tuple[str, ...], given: tuple[str, ...]) -> bool:
    if wanted[-1] == "**":
        wanted = wanted[:-1]
        if len(given) <= len(wanted):
            return False
    elif len(given) != len(wanted):
        return False
    return all(want in ("*", give) for want, give in zip(wanted, given, strict=False))
