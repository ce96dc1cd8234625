"""What many views share: times, JSON text as it is, and failures."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast, overload

import orjson
from typing_extensions import TypedDict

from executor.model.execution import Failure as ExecutionFailure

View = dict[str, Any]  # a view that came over a wire
Read = Callable[[str], Any]


class Failure(TypedDict):
    code: str
    message: str
    hint: str


Failure.__pydantic_config__ = {"extra": "allow"}  # type: ignore[attr-defined]  # some have more, and the document says so


def failure_view(failure: ExecutionFailure | None) -> Failure | None:
    return None if failure is None else cast("Failure", failure.to_dict())


class SchemaDifference(TypedDict):
    """`at` is a place (`input.customer.name`), `what` the keyword that differs, or `added` and `removed`."""

    at: str
    what: str
    was: str
    now: str


class Named(TypedDict):
    id: str
    name: str


def fragment(text: str) -> Any:
    """JSON text put into an answer as it is, without reading it."""
    return orjson.Fragment(text)


@overload
def time(milliseconds: int) -> str: ...
@overload
def time(milliseconds: int | None) -> str | None: ...
def time(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
