"""What a caller learns about an execution."""

from __future__ import annotations

from typing import Any

from executor.dataclass import dataclass
from executor.model.artifact import Artifact
from executor.model.event import Event
from executor.model.execution import Execution
from executor.model.interaction import Interaction


@dataclass(frozen=True, slots=True)
class LogLine:
    level: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """`interactions` are those still pending; an execution is paused because of them.

    `diagnostics` are the warnings of its type check. `artifact` is where a large result is kept.
    """

    execution: Execution
    interactions: tuple[Interaction, ...] = ()
    logs: tuple[LogLine, ...] = ()
    diagnostics: tuple[dict[str, Any], ...] = ()
    artifact: Artifact | None = None


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Whether the journal alone gives the recorded outcome again; `detail` says what differs.

    `recorded` and `replayed` are JSON text of both: of the call with that number, or else of the outcome.
    """

    matches: bool
    detail: str
    call: int | None = None
    recorded: str | None = None
    replayed: str | None = None


def log_line(event: Event) -> LogLine:
    return LogLine(event.data["level"], event.data["text"], event.at)
