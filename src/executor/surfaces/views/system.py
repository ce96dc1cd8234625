"""The daemon itself."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from executor.surfaces.views.base import Named


class Check(TypedDict):
    name: str
    status: Literal["ok", "warning", "failure"]
    message: str
    hint: str


class Doctor(TypedDict):
    checks: list[Check]


class SandboxView(TypedDict):
    runtime: str
    workers: int
    layers: list[str]


class StatusView(TypedDict):
    version: str
    python: str
    database: str
    pid: int
    address: str
    startedAt: str
    uptimeSeconds: float
    workspace: Named
    executions: dict[str, int]
    sources: int
    tools: int
    sandbox: SandboxView


class Health(TypedDict):
    ok: bool


class Readiness(TypedDict):
    ready: bool
