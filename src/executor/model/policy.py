"""A policy: an ordered rule from a pattern over tool paths to a decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Action = Literal["allow", "require_approval", "deny"]


@dataclass(frozen=True, slots=True)
class Policy:
    id: str
    workspace_id: str
    position: int
    pattern: str
    action: Action
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """`policy_id` is empty when the tool's effect decided; `reason` is a sentence for people."""

    action: Action
    policy_id: str
    reason: str
