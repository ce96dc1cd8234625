"""An execution: one run of submitted code, and the calls it made."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from executor.dataclass import dataclass
from executor.model.tool import Effect
from executor.model.use_limits import Priority

Status = Literal["queued", "running", "paused", "completed", "failed", "cancelled"]
FINAL: frozenset[Status] = frozenset({"completed", "failed", "cancelled"})
# Codes of failures that come from outside of the code, which the code can't claim for itself.
OUTSIDE_CODES = frozenset({"cancelled", "wall_limit", "sandbox_lost", "attempts_exhausted", "nondeterminism"})

CallState = Literal["proposed", "started", "succeeded", "failed", "abandoned"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one execution. Time that a human takes never counts: a parked execution has no process."""

    cpu_ms: int = 10_000
    memory_bytes: int = 64 * 1024 * 1024
    wall_ms: int = 300_000
    calls: int = 1_000
    result_bytes: int = 64 * 1024 * 1024
    output_bytes: int = 8 * 1024 * 1024
    log_bytes: int = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an execution or a call failed. The same shape everywhere: database, `/v1`, CLI, MCP, submitted code."""

    code: str
    message: str
    hint: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "hint": self.hint, **self.details}


@dataclass(frozen=True, slots=True)
class Execution:
    """`seed` and `clock_ms` make a replay see the same random numbers and times; `epoch` fences off old owners.

    `language` is what the code is written in, `runtime` what runs it: by default the one named like the language.
    """

    id: str
    workspace_id: str
    actor_id: str
    language: str
    code: str
    status: Status
    seed: bytes
    clock_ms: int
    limits: Limits
    epoch: int = 0
    wall_ms: int = 0
    result: str | None = None
    failure: Failure | None = None
    created_at: int = 0
    updated_at: int = 0
    finished_at: int | None = None
    runtime: str = ""
    origin: str = ""  # by which credential it was submitted, from where
    artifact_id: str = ""  # where the result is, if it is large
    client_id: str = ""  # what the client calls itself, and the name that an MCP client has
    client_name: str = ""
    toolkit_id: str = ""  # what it may see and call is narrowed to this toolkit
    owner: str = ""  # the process that runs it, where several share the database
    segment: int = 0  # how often it was queued again
    attempts: int = 0  # how often its process was lost since it last got an answer
    typecheck: str = ""  # as it was submitted; empty for the default
    priority: Priority = "normal"

    def __post_init__(self) -> None:
        if not self.runtime:
            object.__setattr__(self, "runtime", self.language)

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    def may_read(self, other: Execution) -> bool:
        """What the same actor left behind; in a toolkit, what it left there."""
        return other.actor_id == self.actor_id and self.toolkit_id in ("", other.toolkit_id)

    @property
    def is_of_stranger(self) -> bool:
        """It runs in an anonymous workspace."""
        return self.origin.startswith("anonymous")


@dataclass(frozen=True, slots=True)
class Call:
    """One journalled call. `done_seq` is the place of its answer in delivery order, `done_ms` the clock then shown.

    `arguments` and `result` are JSON text, kept as the bytes that were digested and delivered. A large result is kept
    as an artifact. `route` is where it was sent and with which credential: the same call under another is another call.
    """

    execution_id: str
    workspace_id: str
    seq: int
    kind: Literal["tool", "timer"]
    path: str
    arguments: str
    arguments_digest: str
    state: CallState
    effect: Effect = "read"
    source_id: str = ""
    schema_digest: str = ""
    result: str | None = None
    failure: dict[str, Any] | None = None
    done_seq: int | None = None
    done_ms: int | None = None
    created_at: int = 0
    started_at: int | None = None
    artifact_id: str = ""
    route: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionFilter:
    """Which executions to find. Empty fields match everything.

    `tool` is the path of a tool it called, or the beginning of one up to a dot: `shop` is anything of that source.
    """

    actor_id: str = ""
    statuses: tuple[Status, ...] = ()
    language: str = ""
    runtime: str = ""
    tool: str = ""
    text: str = ""
    since: int = 0
    until: int | None = None
    toolkit_id: str = ""


@dataclass(frozen=True, slots=True)
class CallHead:
    """A call with the beginning of its arguments and without its result; `size` is how many characters that has."""

    call: Call
    size: int | None


@dataclass(frozen=True, slots=True)
class PastCall:
    """`arguments` is None where they are too large to be judged again."""

    execution_id: str
    seq: int
    path: str
    effect: Effect
    source_id: str
    actor_id: str
    arguments: dict[str, object] | None
    at: int
    state: str
