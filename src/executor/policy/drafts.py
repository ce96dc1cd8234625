"""Policies that are not in force yet: read from what people write, shown to them, compared, tried out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Literal, get_args

import orjson

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.model.policy import Condition, Decision, Level, Policy
from executor.model.tool import Effect
from executor.policy.conditions import MAX_CONDITIONS, MISSING, parse_condition, resolve
from executor.policy.decide import BASES, Subject, decide, parse_action
from executor.policy.pattern import parse_pattern
from executor.policy.visibility import covers

# How many of the tools there are each policy is about, for many policies and many tools in one go.
Head = tuple[str, str, str]  # path, effect, source


def counts(policies: Sequence[Policy], heads: Iterable[Head]) -> dict[str, int]:
    """By the policy's id. Only tools that share a pattern's beginning are looked at."""
    known = sorted((path, tuple(path.split(".")), effect, source) for path, effect, source in heads)
    paths = [path for path, *_ in known]
    found = {}
    for policy in policies:
        wanted = parse_pattern(policy.pattern)
        beginning = ".".join(takewhile(lambda segment: "*" not in segment, wanted))
        start = bisect_left(paths, beginning)
        end = bisect_left(paths, f"{beginning}/") if beginning else len(paths)  # "/" follows "."
        found[policy.id] = sum(
            policy.effect in ("", effect)
            and policy.source_id in ("", source)
            and policy.retired_at is None
            and source not in policy.excluded
            and covers(wanted, given)
            for _, given, effect, source in known[start:end]
        )
    return found


Covers = Literal["call", "tool", "source"]
WHOLE = ""  # the pointer to all arguments at once
SIGNS = {"equals": "=", "one_of": " in ", "matches": "~", "at_most": "<=", "at_least": ">="}


@dataclass(frozen=True, slots=True)
class Change:
    """What policies as they might be would have made of a call that was decided by the policies as they are."""

    subject: Subject
    before: Decision
    after: Decision

    @property
    def differs(self) -> bool:
        return self.before.action != self.after.action


def draft(
    pattern: str,
    action: str,
    conditions: Sequence[Mapping[str, Any]] = (),
    *,
    level: Level = "workspace",
    owner_id: str = "",
    actor_id: str = "",
    source_id: str = "",
    effect: str = "",
    note: str = "",
) -> Policy:
    """A policy that makes sense, or an error that says why it does not."""
    parse_pattern(pattern)
    if len(conditions) > MAX_CONDITIONS:
        raise InvalidRequest(f"a policy has at most {MAX_CONDITIONS} conditions", hint="create several policies")
    if effect and effect not in get_args(Effect):
        raise InvalidRequest(f"unknown effect {effect!r}", hint=f"use one of {', '.join(get_args(Effect))}")
    parsed = tuple(parse_condition(one) for one in conditions)
    return Policy("", level, owner_id, 0, pattern, parse_action(action), parsed, actor_id, source_id, effect, note)


def narrowest(
    subject: Subject, pins: Iterable[str] = (), *, level: Level, owner_id: str, covers: Covers = "tool"
) -> Policy:
    """The policy that allows the call and as little else as possible; each pinned argument must stay as it is.

    It `covers` the tool unless said otherwise: only this very `call`, with nothing but these arguments, or all tools
    of the `source` that have the same effect.
    """
    conditions = []
    for pointer in dict.fromkeys([WHOLE, *pins] if covers == "call" else pins):
        found = resolve(dict(subject.arguments or {}) if pointer == WHOLE else subject.arguments or {}, pointer)
        if found is MISSING:
            raise InvalidRequest(f"the call has no argument at {pointer!r}", hint="pin one of the arguments shown")
        value = dict(found) if isinstance(found, Mapping) else found  # plain, as it is stored and shown
        conditions.append({"path": pointer, "test": "equals", "value": value})
    return draft(
        f"{subject.path.split('.')[0]}.**" if covers == "source" else subject.path,
        "allow",
        conditions,
        level=level,
        owner_id=owner_id,
        actor_id=subject.actor_id,
        source_id=subject.source_id,
        effect=subject.effect,
    )


def is_broader(policy: Policy, than: Policy) -> bool:
    """Whether it covers a call that the other does not. More conditions only make a policy narrower."""
    names = ("pattern", "action", "level", "owner_id", "actor_id", "source_id", "effect")
    return any(getattr(policy, name) != getattr(than, name) for name in names) or not (
        set(map(condition_text, than.conditions)) <= set(map(condition_text, policy.conditions))
    )


def with_policy(policies: Sequence[Policy], added: Policy, position: int | None) -> list[Policy]:
    """The policies as they would be with one more; at the end of its level unless a position is given."""
    mine = [policy for policy in policies if policy.level == added.level]
    others = [policy for policy in policies if policy.level != added.level]
    place = len(mine) if position is None else max(0, min(position, len(mine)))
    return [*others, *mine[:place], replace(added, position=place), *mine[place:]]


def in_order(policies: Sequence[Policy], ids: Sequence[str]) -> list[Policy]:
    """The policies as they would be with those of one level in this order; a policy of it that is left out is gone."""
    check_known(policies, ids)
    by_id = {policy.id: policy for policy in policies}
    if len(set(ids)) != len(ids) or len({by_id[one].level for one in ids}) > 1:
        raise InvalidRequest("an order must list each policy of one level once", hint="pass the IDs of one level")
    level = by_id[ids[0]].level if ids else "workspace"
    return [*(policy for policy in policies if policy.level != level), *(by_id[one] for one in ids)]


def remaining(policies: Sequence[Policy], without: Sequence[str]) -> list[Policy]:
    """The policies as they would be without some of them."""
    check_known(policies, without)
    return [policy for policy in policies if policy.id not in without]


def check_known(policies: Sequence[Policy], ids: Sequence[str]) -> None:
    known = {policy.id for policy in policies}
    if unknown := [one for one in ids if one not in known]:
        raise InvalidRequest(f"there is no policy {unknown[0]!r}", hint="see `executor policies list`")


def changes(past: Iterable[Subject], before: Sequence[Policy], after: Sequence[Policy]) -> list[Change]:
    return [Change(subject, decide(subject, before), decide(subject, after)) for subject in past]


def text(policy: Policy, *, actor: str = "", source: str = "") -> str:
    """One line for people, e.g. `github.issues.* when /owner="acme" by ci → allow`."""
    parts = [policy.pattern]
    if policy.conditions:
        parts.append("when " + " and ".join(condition_text(one) for one in policy.conditions))
    if policy.effect:
        parts.append(f"({policy.effect} calls)")
    if policy.source_id:
        parts.append(f"of {source or policy.source_id}")
    if policy.actor_id:
        parts.append(f"by {actor or policy.actor_id}")
    because = f" ({BASES[policy.made_for.basis]})" if policy.is_about_reads and policy.made_for else ""
    return f"{' '.join(parts)} → {policy.action}{because}"


def condition_text(condition: Condition) -> str:
    value = condition.value if condition.test == "matches" else orjson.dumps(condition.value).decode()
    return f"{condition.path or 'arguments'}{SIGNS[condition.test]}{value}"
