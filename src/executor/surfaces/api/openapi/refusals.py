"""How each operation can refuse: problem documents (RFC 9457), described once and shared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MEDIA_TYPE = "application/problem+json"
OTHER = "Problem"
REFUSALS: dict[str, tuple[str, str]] = {
    "400": ("InvalidRequest", "The request is not valid; `problems` says where."),
    "401": ("Unauthorized", "A credential is missing, or is not valid."),
    "403": ("Forbidden", "The credential lacks a permission, or the origin is refused."),
    "404": ("NotFound", "There is nothing by this name in the workspace."),
    "412": ("PreconditionFailed", "It has changed since the version that `If-Match` names; nothing was changed."),
    "413": ("BodyTooLarge", "The body is too large."),
    "415": ("UnsupportedMediaType", "The body is not declared as `application/json`."),
    "422": ("IdempotencyKeyReused", "The idempotency key was used before, for another request."),
}


def components() -> dict[str, Any]:
    texts = dict([*REFUSALS.values(), (OTHER, "Any other problem. Its `code` is stable.")])
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {name: {"description": text, "content": content} for name, text in texts.items()}


def refusals(path: str, operation: dict[str, Any], *, is_public: bool) -> dict[str, Any]:
    """By status. What is not named here has the form of any other problem."""
    named = {status: _reference(REFUSALS[status][0]) for status in _statuses(path, operation, is_public=is_public)}
    return {**named, "default": _reference(OTHER)}


def _statuses(path: str, operation: dict[str, Any], *, is_public: bool) -> Iterator[str]:
    headers = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "header"}
    yield "400"
    if not is_public:
        yield from ("401", "403")
    if "{" in path:
        yield "404"
    if "If-Match" in headers:
        yield "412"
    if "requestBody" in operation:
        yield from ("413", "415")
    if "Idempotency-Key" in headers:
        yield "422"


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/responses/{name}"}
