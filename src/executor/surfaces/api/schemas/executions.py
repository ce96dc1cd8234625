"""Executions, their calls and the questions they wait for."""

from __future__ import annotations

from typing import Any, Literal

from executor.surfaces.api.schemas.base import Effect, Failure, Shape, Status

Through = Literal["cli", "web", "mcp", "api"]
InteractionStatus = Literal["pending", "approved", "denied", "expired", "cancelled", "superseded"]


class LogLine(Shape):
    level: Literal["debug", "log", "info", "warn", "error"]
    text: str
    at: str


class LogPage(Shape):
    items: list[LogLine]


class Diagnostic(Shape):
    severity: Literal["error", "warning"]
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    code: str
    tool: str | None = None
    signature: str | None = None
    hint: str | None = None


class ToolDifference(Shape):
    at: str
    what: str
    was: str
    now: str


class ChangedTool(Shape):
    """What is different from the tool that a rule was made for; `isNew` if there was none of this path."""

    policy_id: str
    rule: str
    is_new: bool
    differences: list[ToolDifference]
    cut: bool


class Refusal(Shape):
    """Why whoever asks may not let an open question pass, and who can."""

    code: str
    message: str
    hint: str


class InteractionView(Shape):
    id: str
    execution_id: str
    call_seq: int
    kind: Literal["approval", "unknown_outcome", "credential", "oauth"]
    status: InteractionStatus
    tool: str
    arguments: Any
    arguments_cut: str | None
    effect: str | None
    host: str | None
    request: str | None = None
    sent_with: str | None = None
    reason: str
    policy_id: str | None
    changed: ChangedTool | None = None
    namespace: str | None = None
    rules: list[str] | None = None
    suggestion: str | None = None
    decision_reason: str
    scope: Literal["once", "execution", "always"] | None
    settled_by: str | None
    settled_from: str | None
    binding: str
    url: str
    prompt: str
    credential: dict[str, Any] | None = None
    created_at: str
    expires_at: str
    settled_at: str | None
    actor_id: str | None = None
    actor: str | None = None
    origin: str | None = None
    source: str | None = None
    question: str | None = None
    description: str | None = None
    described_by: str | None = None
    connection: str | None = None
    settled_by_name: str | None = None
    needs: list[str] | None = None
    waits_for: str | None = None
    refusal: Refusal | None = None


class InteractionPage(Shape):
    items: list[InteractionView]
    next: str | None
    total: int
    partial: bool


class Cut(Shape):
    """What a preview leaves out at a place: how many items, keys or characters it shows, of how many."""

    at: str
    what: Literal["items", "keys", "characters"]
    shown: int
    total: int


class ArtifactView(Shape):
    id: str
    execution_id: str
    call: int | None
    name: str
    media_type: str
    size: int
    digest: str
    cut: list[Cut]
    uncounted: int
    preview: Any = None
    created_at: str
    deleted_at: str | None


class ArtifactPage(Shape):
    items: list[ArtifactView]
    next: str | None
    partial: bool


class CallView(Shape):
    seq: int
    kind: Literal["tool", "timer"]
    path: str
    arguments: Any
    state: Literal["proposed", "started", "succeeded", "failed", "abandoned"]
    effect: Effect
    schema_digest: str | None
    result: Any
    artifact: ArtifactView | None = None
    error: dict[str, Any] | None
    created_at: str
    started_at: str | None
    finished_at: str | None


class CallHead(Shape):
    """A call without what was sent and answered: of the arguments the beginning, of the result the size."""

    seq: int
    kind: Literal["tool", "timer"]
    path: str
    state: Literal["proposed", "started", "succeeded", "failed", "abandoned"]
    effect: Effect
    schema_digest: str | None
    error: dict[str, Any] | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    preview: str
    arguments_digest: str
    result_size: int | None


class CallPage(Shape):
    items: list[CallView]


class ExecutionView(Shape):
    execution_id: str
    status: Status
    language: str
    runtime: str
    result: Any
    artifact: ArtifactView | None = None
    error: Failure | None
    interactions: list[InteractionView]
    logs: list[LogLine]
    diagnostics: list[Diagnostic]
    created_at: str
    finished_at: str | None
    code: str | None = None
    calls: list[CallView] | None = None
    heads: list[CallHead] | None = None
    actor_id: str | None = None
    actor: str | None = None
    through: Through | None = None


class ExecutionSummary(Shape):
    execution_id: str
    status: Status
    language: str
    runtime: str
    error: Failure | None
    preview: str
    calls: int
    actor_id: str
    actor: str | None
    through: Through | None
    created_at: str
    updated_at: str
    finished_at: str | None


class ExecutionPage(Shape):
    items: list[ExecutionSummary]
    next: str | None
    partial: bool


class ReplayDifference(Shape):
    """What the journal has and what the code did now: of one call, or of the outcome."""

    call: int | None
    recorded: Any
    replayed: Any


class ReplayView(Shape):
    matches: bool
    detail: str
    difference: ReplayDifference | None
