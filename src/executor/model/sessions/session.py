"""A session: a coding agent in an isolated executor process, the tasks it was given, and its transcript."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from executor.dataclass import dataclass

Isolation = Literal["simple", "insulated", "strict", "sandbox"]
PermissionMode = Literal["plan", "default", "acceptEdits", "bypassPermissions"]
# What becomes of a permission request that no one answers: it stays open and the task waits, it is denied, or the task
# is stopped. In each case not before its deadline.
Unattended = Literal["wait", "deny", "stop"]
# queued: waits for a free executor process · waiting: for a permission · stopped: until it is resumed.
SessionStatus = Literal["idle", "queued", "running", "waiting", "stopped"]
TaskStatus = Literal["queued", "running", "waiting", "completed", "failed", "cancelled", "interrupted"]
MessageKind = Literal["prompt", "text", "thought", "tool_call", "plan", "usage", "permission", "notice", "commands"]

UNFINISHED: tuple[TaskStatus, ...] = ("queued", "running", "waiting")
# From the strictest to the most permissive.
MODES: tuple[PermissionMode, ...] = ("plan", "default", "acceptEdits", "bypassPermissions")


@dataclass(frozen=True, slots=True)
class Budget:
    """What a session may spend at model providers, in US dollars. None: what the settings allow."""

    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """An executor process, so that what is left of it is found again. A later one of its id has another `started`."""

    pid: int
    started: str
    socket: str


@dataclass(frozen=True, slots=True)
class Session:
    """`actor_id` is the person who started it and answers for it, `agent_id` the actor that its agent acts as.

    `agent_session` is the agent's own name for the conversation, by which it can be loaded again. `repository`,
    `branch` and `base` are empty for a session that works in a directory of its user. `unix_user` is set for `strict`.
    `set_up_at` is when its repository's set-up script has run, `removed_at` when its clone was removed because no one
    used it: then `snapshot` says which commit holds the work.
    """

    id: str
    workspace_id: str
    actor_id: str
    agent_id: str
    agent: str
    status: SessionStatus
    isolation: Isolation
    permission_mode: PermissionMode
    cwd: str
    title: str = ""
    model: str = ""
    unattended: Unattended = "wait"
    budget: Budget = field(default_factory=Budget)
    repository: str = ""
    branch: str = ""
    base: str = ""
    unix_user: str = ""
    set_up_at: int | None = None
    removed_at: int | None = None
    snapshot: str = ""
    agent_session: str = ""
    parent_id: str = ""
    key_id: str = ""
    process: Process | None = None
    created_at: int = 0
    updated_at: int = 0
    archived_at: int | None = None

    @property
    def is_live(self) -> bool:
        return self.status in ("queued", "running", "waiting")


@dataclass(frozen=True, slots=True)
class Task:
    """One prompt and what became of it. Numbers grow within a session; those that are queued run in their order."""

    id: str
    session_id: str
    workspace_id: str
    actor_id: str
    number: int
    prompt: str
    status: TaskStatus
    created_at: int
    started_at: int | None = None
    finished_at: int | None = None
    usage: dict[str, Any] | None = None
    failure: dict[str, Any] | None = None

    @property
    def is_final(self) -> bool:
        return self.status not in UNFINISHED


@dataclass(frozen=True, slots=True)
class Message:
    """A record of the transcript. Writing one again under its `id` replaces it, and gives it a new `sequence`.

    Records are shown by `position`, and followed by `sequence`: a reader that remembers the highest one misses nothing.
    """

    session_id: str
    workspace_id: str
    id: str
    sequence: int
    position: int
    task_id: str
    kind: MessageKind
    text: str
    data: dict[str, Any]
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class NewSession:
    """What a person asks for. `cwd` is a directory of this machine, `repository` a name or a location."""

    agent: str
    cwd: str = ""
    isolation: Isolation | None = None
    permission_mode: PermissionMode = "default"
    budget: Budget = field(default_factory=Budget)
    repository: str = ""
    title: str = ""
    model: str = ""
    unattended: Unattended | None = None
    unix_user: str = ""


@dataclass(frozen=True, slots=True)
class SessionToken:
    """What an executor process shows with everything it asks for. `uses_left` counts keys that it was given."""

    session_id: str
    workspace_id: str
    actor_id: str
    created_at: int
    expires_at: int
    uses_left: int
    revoked_at: int | None = None


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Empty fields match everything; archived sessions only when they are wanted."""

    statuses: tuple[SessionStatus, ...] = ()
    agent: str = ""
    actor_id: str = ""
    archived: bool = False
