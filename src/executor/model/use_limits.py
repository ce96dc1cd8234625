"""What a workspace, or one of its actors, may use of an installation at a time, and which share of what is free."""

from __future__ import annotations

from dataclasses import field, fields, replace
from typing import Literal

from executor.dataclass import dataclass

Priority = Literal["high", "normal", "low"]
LimitName = Literal["running", "queued", "perMinute"]
RANKS: dict[Priority, int] = {"high": 0, "normal": 1, "low": 2}  # as they are stored: what comes first is less
MOST_WEIGHT = 1000


@dataclass(frozen=True, slots=True)
class UseLimits:
    """0 is no limit. `priority` is the highest that executions may have."""

    running: int = 0
    queued: int = 0
    per_minute: int = 0
    weight: int = 1
    priority: Priority = "normal"

    @property
    def is_bound(self) -> bool:
        return bool(self.running or self.queued or self.per_minute)


@dataclass(frozen=True, slots=True)
class ChosenLimits:
    """What was chosen for a workspace, or for one actor. None is the default."""

    running: int | None = None
    queued: int | None = None
    per_minute: int | None = None
    weight: int | None = None
    priority: Priority | None = None

    def over(self, default: UseLimits) -> UseLimits:
        chosen = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) is not None}
        return replace(default, **chosen) if chosen else default


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is in force for the executions of one actor: its own limits, and those of its workspace."""

    workspace: UseLimits = field(default_factory=UseLimits)
    actor: UseLimits = field(default_factory=UseLimits)

    @property
    def is_bound(self) -> bool:
        """Whether a submission has to be counted."""
        return self.workspace.is_bound or self.actor.is_bound

    @property
    def weights(self) -> tuple[int, int]:
        return self.workspace.weight, self.actor.weight


UNBOUND = Bounds()
