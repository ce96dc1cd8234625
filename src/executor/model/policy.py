"""A policy: an ordered rule from a pattern over tool paths, and conditions on the call, to a decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Action = Literal["allow", "require_approval", "deny"]
Level = Literal["organization", "workspace", "toolkit"]
Test = Literal["equals", "one_of", "matches", "at_most", "at_least"]


@dataclass(frozen=True, slots=True)
class Condition:
    """`path` is a JSON pointer into the arguments. A condition about something that isn't there does not hold."""

    path: str
    test: Test
    value: Any


@dataclass(frozen=True, slots=True)
class Policy:
    """Holds for a call when everything it names holds: pattern, conditions, actor, source and effect."""

    id: str
    level: Level
    owner_id: str
    position: int
    pattern: str
    action: Action
    conditions: tuple[Condition, ...] = ()
    actor_id: str = ""
    source_id: str = ""
    effect: str = ""
    note: str = ""
    created_by: str = ""
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """`policy_id` is empty when the tool's effect decided; `reason` is a sentence for people."""

    action: Action
    policy_id: str
    reason: str
