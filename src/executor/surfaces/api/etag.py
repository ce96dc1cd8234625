"""Edits that must not undo what someone else changed: `ETag` is a version, and `If-Match` of an edit names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.requests import Request

from executor.errors import Conflict, InvalidRequest, PreconditionFailed

TAG = re.compile(r'"([!#-~]{1,128})"')
# Read by hand, as `Idempotency-Key` is.
IF_MATCH: dict[str, Any] = {
    "parameters": [
        {
            "name": "If-Match",
            "in": "header",
            "required": False,
            "description": "The `ETag` that you saw. If there is another by now, nothing changes.",
            "schema": {"type": "string"},
        }
    ]
}

TAGGED: dict[int | str, dict[str, Any]] = {
    200: {"headers": {"ETag": {"description": "Its version, for `If-Match`", "schema": {"type": "string"}}}}
}


def etag(version: object) -> dict[str, str]:
    return {"ETag": f'"{version}"'}


def expected_version(request: Request) -> str:
    """Empty if any version will do."""
    given = request.headers.getlist("if-match")
    if not given or given == ["*"]:
        return ""
    tag = TAG.fullmatch(given[0].strip())
    if tag is None or len(given) > 1:
        raise InvalidRequest("`If-Match` must have one `ETag`, in quotes", hint="send it as you received it")
    return tag[1]


@contextmanager
def precondition(version: str) -> Iterator[None]:
    """What names a version in its body gets a conflict; what names it in `If-Match` gets what HTTP says."""
    try:
        yield
    except Conflict as error:
        if not version or "revision" not in error.details:
            raise
        raise PreconditionFailed(error.message, hint=error.hint, **error.details) from error
