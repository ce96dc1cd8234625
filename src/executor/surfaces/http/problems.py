"""Problem details (RFC 9457): every error that leaves the API looks the same."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from executor.errors import (
    BodyTooLarge,
    ExecutorError,
    InternalError,
    InvalidRequest,
    LimitReached,
    MethodNotAllowed,
    NotFound,
    RateLimited,
    RefusedCall,
    ToolError,
    Unauthorized,
)

if TYPE_CHECKING:
    from fastapi.exceptions import RequestValidationError  # the guard needs this module before FastAPI is imported

logger = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"


def respond(error: ExecutorError, headers: Mapping[str, str] | None = None) -> Response:
    extra = dict(headers or {})
    if isinstance(error, Unauthorized):
        extra.setdefault("WWW-Authenticate", "Bearer")
    if isinstance(error, RateLimited):
        extra["Retry-After"] = str(error.details.get("seconds", 1))
    if isinstance(error, LimitReached) and "seconds" in error.details:
        extra["Retry-After"] = str(error.details["seconds"])
    if isinstance(error, BodyTooLarge) or error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        extra["Connection"] = "close"  # the rest of the body was not read
    body = orjson.dumps(error.to_problem(), default=str)
    return Response(body, status_code=error.status, headers=extra, media_type=MEDIA_TYPE)


def opaque(error: BaseException) -> InternalError:
    """Log what happened under an id that the answer names instead."""
    incident = secrets.token_hex(8)
    logger.error("unexpected error %s", incident, exc_info=error)
    return InternalError(
        f"internal error (incident {incident})",
        hint="the daemon's log has details under this ID",
        incident=incident,
    )


def from_validation(errors: Sequence[Mapping[str, Any]]) -> InvalidRequest:
    """What the caller sent is not echoed, only where it is wrong and why."""
    problems = [{"at": _pointer(error["loc"]), "message": str(error["msg"])} for error in errors[:20]]
    first = problems[0] if problems else {"at": "", "message": "the request is not valid"}
    return InvalidRequest(
        f"{first['at'] or 'the request'}: {first['message']}",
        hint="GET /v1/openapi.json describes every route",
        problems=problems,
    )


def _pointer(location: Sequence[Any]) -> str:
    where, *rest = [str(part) for part in location] or [""]
    if where == "body":
        return "/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in rest) if rest else "body"
    return " ".join((where, *rest))


async def on_executor_error(request: Request, error: ExecutorError) -> Response:
    return respond(RefusedCall(error) if isinstance(error, ToolError) else error)


async def on_validation_error(request: Request, error: RequestValidationError) -> Response:
    return respond(from_validation(error.errors()))


async def on_http_exception(request: Request, error: HTTPException) -> Response:
    """Starlette's own refusals. FastAPI wraps what broke while a body was read; the cause says more."""
    if isinstance(error.__cause__, ExecutorError):
        return respond(error.__cause__)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return respond(NotFound("not found", hint="GET /v1/openapi.json lists every route"))
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        refused = MethodNotAllowed(f"{request.method} is not allowed at this address")
        return respond(refused, error.headers)
    return respond(InvalidRequest(str(error.detail)), error.headers)
