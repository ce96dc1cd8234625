"""Answers as bytes: orjson writes them, nothing is validated or copied on the way out.

`Answer[T]` is how a handler says what it answers: mypy checks it, and the OpenAPI document describes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

T = TypeVar("T")


class Problem(BaseModel):
    model_config = ConfigDict(extra="allow")
    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str


PROBLEMS: dict[int | str, dict[str, Any]] = {
    "default": {"description": "A problem (RFC 9457)", "content": {"application/problem+json": {}}, "model": Problem}
}


class Answer(Response, Generic[T]):
    """Lets go of its body when it hands it on: a slow reader may take long."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        message = {"type": "http.response.body", "body": self.body}
        self.body = b""
        await send(message)


def answer(value: T, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer[T]:
    body = orjson.dumps(value, default=str)
    return Answer(body, status_code=status, headers=headers, media_type="application/json")
