"""Refusals in each provider's own error shape, so that an agent shows them as it shows the provider's errors."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from executor.dataclass import dataclass
from executor.model.sessions.model_usage import ModelProvider

Kind = Literal[
    "authentication", "permission", "not_found", "method", "invalid", "too_large", "rate", "budget", "upgrade",
    "unavailable", "timeout",
]  # fmt: skip
STATUS: dict[Kind, int] = {
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "method": 405,
    "invalid": 400,
    "too_large": 413,
    "rate": 429,
    "budget": 402,  # none of the agents tries again after a 402
    "upgrade": 426,  # Codex then uses HTTP at once, and for the rest of its session
    "unavailable": 502,
    "timeout": 504,
}
ANTHROPIC: dict[Kind, str] = {
    "authentication": "authentication_error",
    "permission": "permission_error",
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "rate": "rate_limit_error",
    "budget": "billing_error",
    "unavailable": "api_error",
    "timeout": "timeout_error",
}
OPENAI: dict[Kind, tuple[str, str]] = {
    "authentication": ("authentication_error", "invalid_api_key"),
    "permission": ("permission_error", "model_not_allowed"),
    "rate": ("rate_limit_error", "rate_limit_exceeded"),
    "budget": ("insufficient_quota", "insufficient_quota"),
    "unavailable": ("server_error", "upstream_unavailable"),
    "timeout": ("server_error", "upstream_timeout"),
}
GEMINI: dict[Kind, str] = {
    "authentication": "UNAUTHENTICATED",
    "permission": "PERMISSION_DENIED",
    "not_found": "NOT_FOUND",
    "rate": "RESOURCE_EXHAUSTED",
    "budget": "RESOURCE_EXHAUSTED",
    "unavailable": "UNAVAILABLE",
    "timeout": "DEADLINE_EXCEEDED",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """`reason` is a word for the audit log; `message` is what the agent shows."""

    kind: Kind
    reason: str
    message: str
    retry_seconds: int = 0

    @property
    def status(self) -> int:
        return STATUS[self.kind]


class Refused(Exception):
    """`why` ends the request; nothing of it has left."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why.message)
        self.why = why


def refuse(kind: Kind, reason: str, message: str, *, retry_seconds: int = 0) -> Refused:
    return Refused(Refusal(kind, reason, f"Executor: {message}", retry_seconds))


def render(provider: ModelProvider, refusal: Refusal) -> tuple[bytes, dict[str, str]]:
    """The body and the headers."""
    headers = {"Content-Type": "application/json"}
    if refusal.retry_seconds:
        headers["Retry-After"] = str(refusal.retry_seconds)
    else:
        headers["x-should-retry"] = "false"
    return orjson.dumps(SHAPES[provider](refusal)), headers


def anthropic_error(refusal: Refusal) -> dict[str, Any]:
    kind = ANTHROPIC.get(refusal.kind, "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": refusal.message}}


def openai_error(refusal: Refusal) -> dict[str, Any]:
    kind, code = OPENAI.get(refusal.kind, ("invalid_request_error", refusal.reason))
    return {"error": {"message": refusal.message, "type": kind, "param": None, "code": code}}


def gemini_error(refusal: Refusal) -> dict[str, Any]:
    status = GEMINI.get(refusal.kind, "INVALID_ARGUMENT")
    return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}


SHAPES = {"anthropic": anthropic_error, "openai": openai_error, "gemini": gemini_error}


def provider_of_path(path: str) -> ModelProvider:
    """Whose error shape to use before the key has said which provider it is for."""
    if path.startswith("/v1/messages"):
        return "anthropic"
    return "gemini" if path.startswith("/v1beta/") else "openai"
