"""Executions, their calls and the questions they wait for."""

from __future__ import annotations

from typing import Any, Literal

from executor.surfaces.api.shapes.base import Effect, Failure, Shape, Status

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
    reason: str
    policy_id: str | None
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
    connection: str | None = None
    settled_by_name: str | None = None


class InteractionPage(Shape):
    items: list[InteractionView]
    next: str | None
    total: int


class CallView(Shape):
    seq: int
    kind: Literal["tool", "timer"]
    path: str
    arguments: Any
    state: Literal["proposed", "started", "succeeded", "failed", "abandoned"]
    effect: Effect
    schema_digest: str | None
    result: Any
    error: dict[str, Any] | None
    created_at: str
    started_at: str | None
    finished_at: str | None


class CallPage(Shape):
    items: list[CallView]


class ExecutionView(Shape):
    execution_id: str
    status: Status
    language: str
    runtime: str
    result: Any
    error: Failure | None
    interactions: list[InteractionView]
    logs: list[LogLine]
    diagnostics: list[Diagnostic]
    created_at: str
    finished_at: str | None
    code: str | None = None
    calls: list[CallView] | None = None


class ExecutionSummary(Shape):
    execution_id: str
    status: Status
    language: str
    runtime: str
    error: Failure | None
    preview: str
    created_at: str
    updated_at: str
    finished_at: str | None


class ExecutionPage(Shape):
    items: list[ExecutionSummary]
    next: str | None


class ReplayView(Shape):
    matches: bool
    detail: str
