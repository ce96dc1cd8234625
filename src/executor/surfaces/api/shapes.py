"""The shapes of answers, for the OpenAPI document only: handlers write the bytes themselves."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

Status = Literal["queued", "running", "paused", "completed", "failed", "cancelled"]
InteractionStatus = Literal["pending", "approved", "denied", "expired", "cancelled", "superseded"]
Effect = Literal["read", "write", "destructive"]
Action = Literal["allow", "require_approval", "deny"]


class Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class Problem(BaseModel):
    model_config = ConfigDict(extra="allow")
    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str


class Failure(Shape):
    model_config = ConfigDict(extra="allow")
    code: str
    message: str
    hint: str


class LogLine(Shape):
    level: Literal["debug", "log", "info", "warn", "error"]
    text: str
    at: str


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
    kind: Literal["approval", "unknown_outcome", "credential", "oauth"]
    status: InteractionStatus
    tool: str
    arguments: Any
    arguments_cut: str | None
    effect: str | None
    host: str | None
    reason: str
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
    source: str | None = None
    question: str | None = None
    description: str | None = None
    connection: str | None = None
    settled_by_name: str | None = None


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


class CheckView(Shape):
    ok: bool
    diagnostics: list[Diagnostic]
    unavailable: str | None


class Span(Shape):
    line: int
    column: int
    end_line: int
    end_column: int


class Completion(Shape):
    label: str
    kind: str
    detail: str
    documentation: str
    insert_text: str
    replace: Span


class Completions(Shape):
    items: list[Completion]


class InteractionPage(Shape):
    items: list[InteractionView]
    next: str | None


class CallPage(Shape):
    items: list[CallView]


class LogPage(Shape):
    items: list[LogLine]


class ReplayView(Shape):
    matches: bool
    detail: str


class EventView(Shape):
    id: int
    type: str
    at: str
    execution_id: str | None
    data: dict[str, Any]


class EventPage(Shape):
    items: list[EventView]
    next: int | None


class Skipped(Shape):
    where: str
    reason: str


class AuthView(Shape):
    name: str
    type: str
    description: str


class ProbeView(Shape):
    kind: str
    location: str | None
    name: str | None
    namespace: str | None
    base_url: str | None
    transport: str | None
    auth: list[AuthView]
    note: str | None


class TemplateView(Shape):
    id: str
    name: str
    kind: str
    location: str
    namespace: str
    base_url: str | None
    auth: str | None
    note: str | None


class TemplatePage(Shape):
    items: list[TemplateView]


class SourceView(Shape):
    id: str
    kind: str
    namespace: str
    name: str
    status: Literal["connected", "failing"]
    error: str | None
    location: str | None
    command: list[str] | None
    base_url: str | None
    transport: str | None
    headers: list[str]
    auth: list[AuthView]
    tool_count: int
    skipped: list[Skipped]
    created_at: str
    refreshed_at: str


class RefreshedView(SourceView):
    unchanged: bool
    added: list[str]
    removed: list[str]
    changed: list[str]


class SourcePage(Shape):
    items: list[SourceView]


class ToolHead(Shape):
    path: str
    description: str
    effect: Effect
    deprecated: bool
    source: str


class ToolPage(Shape):
    items: list[ToolHead]
    next: str | None


class ToolMatches(Shape):
    best_path: str | None
    items: list[dict[str, Any]]
    total: int
    groups: dict[str, int] | None = None
    hint: str | None = None


class ConditionView(Shape):
    path: str
    test: Literal["equals", "one_of", "matches", "at_most", "at_least"]
    value: Any


class PolicyView(Shape):
    id: str | None
    level: Literal["organization", "workspace", "toolkit"]
    position: int
    pattern: str
    action: Action
    conditions: list[ConditionView]
    actor: str | None
    actor_id: str | None
    source: str | None
    source_id: str | None
    effect: Effect | None
    note: str
    text: str
    created_by: str | None
    created_at: str | None


class PolicyPage(Shape):
    items: list[PolicyView]


class JudgementView(Shape):
    action: Action
    policy_id: str | None
    reason: str
    policy: PolicyView | None


class DecisionView(JudgementView):
    effect: Effect


class MatchesView(Shape):
    count: int
    tools: list[str]


class ChangeView(Shape):
    execution_id: str
    seq: int
    path: str
    actor: str
    state: str
    at: str
    before: JudgementView
    after: JudgementView


class BeforeAndAfter(Shape):
    before: JudgementView
    after: JudgementView


class SimulationView(Shape):
    decision: BeforeAndAfter | None
    judged: int
    changed: list[ChangeView]
    next: str | None


class AlwaysView(Shape):
    rule: PolicyView
    position: int | None
    matches: MatchesView


class AuditEventView(Shape):
    id: int
    type: str
    at: str
    execution_id: str | None
    actor_id: str | None
    actor: str | None
    origin: str | None
    data: dict[str, Any]
    seal: str | None


class AuditPage(Shape):
    items: list[AuditEventView]
    next: int | None


class BreakView(Shape):
    event_id: int | None
    problem: str


class AuditReportView(Shape):
    ok: bool
    events: int
    head: str | None
    broken: BreakView | None


class Check(Shape):
    name: str
    status: Literal["ok", "warning", "failure"]
    message: str
    hint: str


class Doctor(Shape):
    checks: list[Check]


class WorkspaceView(Shape):
    id: str
    name: str


class SandboxView(Shape):
    runtime: str
    workers: int
    layers: list[str]


class StatusView(Shape):
    version: str
    pid: int
    address: str
    started_at: str
    uptime_seconds: float
    workspace: WorkspaceView
    executions: dict[str, int]
    sources: int
    tools: int
    sandbox: SandboxView


class Health(Shape):
    ok: bool


class SecretView(Shape):
    id: str
    name: str
    provider: Literal["store", "keyring", "environment", "vault", "onepassword"]
    reference: str | None
    created_at: str
    rotated_at: str
    last_used_at: str | None


class SecretPage(Shape):
    items: list[SecretView]


class KeyRotated(Shape):
    values: int


class ConnectionView(Shape):
    id: str
    source: str
    name: str
    scope: Literal["actor", "workspace"]
    actor_id: str | None
    scheme: Literal["api_key", "bearer", "basic", "headers", "environment", "oauth2"]
    origin: str
    places: list[str]
    status: Literal["ready", "incomplete", "expired", "revoked"]
    error: str | None
    revision: int
    created_by: str
    created_at: str
    updated_at: str
    last_used_at: str | None


class ConnectionPage(Shape):
    items: list[ConnectionView]


class WayPage(Shape):
    items: list[dict[str, Any]]
    sent_to: str


class ConnectionTest(Shape):
    ok: bool
    checked: str
    error: str | None = None
    hint: str | None = None
