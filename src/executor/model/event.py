"""An event: an append-only record. The audit log and the live stream are made of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from executor.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """`id` grows in commit order within a database, so a reader that remembers the last one misses nothing.

    `actor_id` and `origin` say who did it and from where; empty for what Executor did on its own. `seal` chains it to
    the event before.
    """

    id: int
    workspace_id: str
    execution_id: str
    type: str
    at: int
    data: dict[str, Any]
    actor_id: str = ""
    origin: str = ""
    seal: str = ""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events to find. Empty fields match everything; `type` is a whole type, or ends in `.*`."""

    actor_id: str = ""
    type: str = ""
    since: int = 0
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Announcement:
    """That an event was committed; anyone who wants its content reads it."""

    workspace_id: str
    execution_id: str
    type: str


# Only followers care for these: they decide nothing that anyone remembers.
QUIET = ("call.", "execution.log")

# Announced, and no event: an execution waits for a process that runs it.
QUEUED = "execution.queued"

# Where the trace of an execution is; only where traces are exported.
TRACED = "execution.traced"
# Nothing of an execution comes after one of these.
ENDINGS = frozenset({"execution.completed", "execution.failed", "execution.cancelled"})

# After these a credential, an actor or an account may do less than before. Their data names it under one of SUBJECTS.
REVOKING = frozenset(
    {"key.revoked", "agent.revoked", "session.closed", "session.lapsed", "member.changed", "member.removed"}
)
SUBJECTS = ("keyId", "agentId", "sessionId", "accountId")


@dataclass(frozen=True, slots=True)
class Revocation(Announcement):
    """`subjects` are the ids of what was revoked."""

    subjects: frozenset[str] = frozenset()


@dataclass(slots=True)
class Batch:
    """Events in order. Followers at the same place share it, and what a surface has made of it."""

    events: Sequence[Event]
    rendered: bytes | None = None
