"""Answers as bytes: orjson writes them, nothing is validated or copied on the way out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.responses import Response

from executor.surfaces.api.shapes.base import Problem

PROBLEMS: dict[int | str, dict[str, Any]] = {
    "default": {"description": "A problem (RFC 9457)", "content": {"application/problem+json": {}}, "model": Problem}
}


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    body = orjson.dumps(value, default=str)
    return Response(body, status_code=status, headers=headers, media_type="application/json")
