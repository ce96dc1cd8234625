"""A request as it is sent, and why it could not be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from executor.errors import InvalidRequest, ReplyLost, RequestUnsent
from executor.sdk.flow import Request

STATUS_HINT = "`executor status` shows whether it is running"


def target(prefix: str, request: Request) -> str:
    given = {name: _text(value) for name, value in request.query.items() if value not in (None, "", [], ())}
    path = f"{prefix}{request.path}"
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def segment(text: str) -> str:
    """One segment of a path, whatever is in it. Proxies would take dots alone for another path."""
    if text in ("", ".", ".."):
        raise InvalidRequest(f"{text!r} is not an id or a name", hint="pass the id of what you mean")
    return quote(text, safe="")


def encode(request: Request, headers: Mapping[str, str]) -> tuple[bytes | None, dict[str, str]]:
    """Its body, and all of its headers."""
    sent = {"Accept": "application/json", **request.headers, **headers}
    if request.body is None:
        return None, sent
    try:
        body = json.dumps(request.body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"an argument can't be expressed as JSON: {error}", hint="pass plain data") from None
    return body, {**sent, "Content-Type": "application/json"}


def no_connection(url: str, error: Exception) -> RequestUnsent:
    return RequestUnsent(f"no one answers at {url}: {_reason(error)}", hint=STATUS_HINT)


def no_answer(url: str, error: Exception) -> ReplyLost:
    return ReplyLost(f"the daemon at {url} did not answer: {_reason(error)}", hint=STATUS_HINT)


def _reason(error: Exception) -> str:
    return "it took too long" if isinstance(error, TimeoutError) else str(error) or type(error).__name__


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
