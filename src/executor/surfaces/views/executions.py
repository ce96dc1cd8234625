"""Executions and their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from executor.model.artifact import Artifact
from executor.model.event import Event
from executor.model.execution import Call, CallState, Execution, Status
from executor.model.execution import CallHead as Head
from executor.model.tool import Effect
from executor.model.use_limits import Priority
from executor.surfaces.escape import escape, shorten
from executor.surfaces.views.artifacts import ArtifactView, artifact_view, read_preview
from executor.surfaces.views.base import Failure, Read, failure_view, fragment, time
from executor.surfaces.views.interactions import InteractionView, interaction_view

if TYPE_CHECKING:
    from executor.execution.outcome import Outcome, ReplayReport

Through = Literal["cli", "web", "mcp", "api"]
THROUGH: dict[str, Through] = {"operator_token": "cli", "browser": "web", "anonymous_browser": "web"}
Level = Literal["debug", "log", "info", "warn", "error"]


class LogLine(TypedDict):
    level: Level
    text: str
    at: str


def log_view(event: Event) -> LogLine:
    return cast("LogLine", {**event.data, "at": time(event.at)})


class LogPage(TypedDict):
    items: list[LogLine]


class Diagnostic(TypedDict):
    severity: Literal["error", "warning"]
    line: int
    column: int
    endLine: int
    endColumn: int
    message: str
    code: str
    tool: NotRequired[str | None]
    signature: NotRequired[str | None]
    hint: NotRequired[str | None]


class CallView(TypedDict):
    seq: int
    kind: Literal["tool", "timer"]
    path: str
    arguments: Any
    state: CallState
    effect: Effect
    schemaDigest: str | None
    result: Any
    artifact: NotRequired[ArtifactView | None]
    error: dict[str, Any] | None
    createdAt: str
    startedAt: str | None
    finishedAt: str | None


def call_view(call: Call, *, read: Read = fragment, kept: Artifact | None = None) -> CallView:
    """`kept` is where a large result is; without the result itself, the preview is shown."""
    result = None if call.result is None else read(call.result)
    return {
        "seq": call.seq,
        "kind": call.kind,
        "path": call.path,
        "arguments": read(call.arguments) if call.arguments else None,
        "state": call.state,
        "effect": call.effect,
        "schemaDigest": call.schema_digest or None,
        "result": read_preview(kept).get("value") if kept and call.result is None else result,
        "artifact": artifact_view(kept) if kept else None,
        "error": call.failure,
        "createdAt": time(call.created_at),
        "startedAt": time(call.started_at),
        "finishedAt": time(call.done_ms),
    }


class CallPage(TypedDict):
    items: list[CallView]


class CallHead(TypedDict):
    """A call without what was sent and answered: of the arguments the beginning, of the result the size."""

    seq: int
    kind: Literal["tool", "timer"]
    path: str
    state: CallState
    effect: Effect
    schemaDigest: str | None
    artifact: None
    error: dict[str, Any] | None
    createdAt: str
    startedAt: str | None
    finishedAt: str | None
    preview: str
    argumentsDigest: str
    resultSize: int | None


def call_head(head: Head) -> CallHead:
    call, failure = head.call, head.call.failure
    return {
        "seq": call.seq,
        "kind": call.kind,
        "path": call.path,
        "state": call.state,
        "effect": call.effect,
        "schemaDigest": call.schema_digest or None,
        "artifact": None,
        "error": {name: failure.get(name, "") for name in ("code", "message", "hint")} if failure else failure,
        "createdAt": time(call.created_at),
        "startedAt": time(call.started_at),
        "finishedAt": time(call.done_ms),
        "preview": shorten(escape(call.arguments or ""), 120),
        "argumentsDigest": call.arguments_digest,
        "resultSize": head.size,
    }


class ExecutionView(TypedDict):
    executionId: str
    status: Status
    language: str
    runtime: str
    result: Any
    artifact: NotRequired[ArtifactView | None]
    error: Failure | None
    interactions: list[InteractionView]
    logs: list[LogLine]
    diagnostics: list[Diagnostic]
    createdAt: str
    finishedAt: str | None
    code: NotRequired[str | None]
    calls: NotRequired[list[CallView] | None]
    heads: NotRequired[list[CallHead] | None]
    actorId: NotRequired[str | None]
    actor: NotRequired[str | None]
    through: NotRequired[Through | None]
    clientId: NotRequired[str | None]
    clientName: NotRequired[str | None]
    priority: NotRequired[Priority | None]


def execution_view(outcome: Outcome, base_url: str, *, read: Read = fragment, whole: bool = True) -> ExecutionView:
    """`read` decides what becomes of JSON text: a fragment for bytes on a wire, `orjson.loads` for a value.

    Not `whole`: of a large result, which is kept as `artifact`, the preview is shown.
    """
    execution, kept = outcome.execution, outcome.artifact
    result = None if execution.result is None or (kept and not whole) else read(execution.result)
    return {
        "executionId": execution.id,
        "status": execution.status,
        "language": execution.language,
        "runtime": execution.runtime,
        "result": read_preview(kept).get("value") if kept and not whole else result,
        "artifact": artifact_view(kept) if kept else None,
        "error": failure_view(execution.failure),
        "interactions": [interaction_view(interaction, base_url) for interaction in outcome.interactions],
        "logs": [{"level": cast("Level", line.level), "text": line.text, "at": time(line.at)} for line in outcome.logs],
        "diagnostics": cast("list[Diagnostic]", list(outcome.diagnostics)),
        "createdAt": time(execution.created_at),
        "finishedAt": time(execution.finished_at),
    }


class SubmittedBy(TypedDict):
    actorId: str
    actor: str | None
    through: Through | None
    clientId: str | None
    clientName: str | None
    priority: Priority


class ExecutionSummary(SubmittedBy):
    executionId: str
    status: Status
    language: str
    runtime: str
    error: Failure | None
    preview: str
    calls: int
    createdAt: str
    updatedAt: str
    finishedAt: str | None


def execution_summary(execution: Execution, actor: str = "", calls: int = 0) -> ExecutionSummary:
    return {
        "executionId": execution.id,
        "status": execution.status,
        "language": execution.language,
        "runtime": execution.runtime,
        "error": failure_view(execution.failure),
        "preview": shorten(escape(" ".join(execution.code[:400].split())), 120),
        "calls": calls,
        **submitted_by(execution, actor),
        "createdAt": time(execution.created_at),
        "updatedAt": time(execution.updated_at),
        "finishedAt": time(execution.finished_at),
    }


def submitted_by(execution: Execution, actor: str) -> SubmittedBy:
    return {
        "actorId": execution.actor_id,
        "actor": actor or None,
        "through": through(execution.origin),
        "clientId": execution.client_id or None,
        "clientName": execution.client_name or None,
        "priority": execution.priority,
    }


def through(origin: str) -> Through | None:
    """The surface that uses such credentials. Any other program that holds one looks the same."""
    words = origin.split()
    if not words:
        return None
    return "mcp" if words[-1] == "mcp" else THROUGH.get(words[0], "api")


class ExecutionPage(TypedDict):
    items: list[ExecutionSummary]
    next: str | None
    partial: bool


class ReplayDifference(TypedDict):
    """What the journal has and what the code did now: of one call, or of the outcome."""

    call: int | None
    recorded: Any
    replayed: Any


class ReplayView(TypedDict):
    matches: bool
    detail: str
    difference: ReplayDifference | None


def replay_view(report: ReplayReport) -> ReplayView:
    difference: ReplayDifference | None = None
    if report.recorded is not None or report.replayed is not None:
        both = (report.recorded, report.replayed)
        recorded, replayed = (None if text is None else fragment(text) for text in both)
        difference = {"call": report.call, "recorded": recorded, "replayed": replayed}
    return {"matches": report.matches, "detail": report.detail, "difference": difference}
