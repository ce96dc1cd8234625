"""The daemon itself."""

from __future__ import annotations

from typing import Literal

from executor.surfaces.api.schemas.base import Shape


class Check(Shape):
    name: str
    status: Literal["ok", "warning", "failure"]
    message: str
    hint: str


class Doctor(Shape):
    checks: list[Check]


class WorkspaceName(Shape):
    id: str
    name: str


class SandboxView(Shape):
    runtime: str
    workers: int
    layers: list[str]


class StatusView(Shape):
    version: str
    python: str
    sqlite: str
    pid: int
    address: str
    started_at: str
    uptime_seconds: float
    workspace: WorkspaceName
    executions: dict[str, int]
    sources: int
    tools: int
    sandbox: SandboxView


class Health(Shape):
    ok: bool
