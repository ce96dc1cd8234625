"""The shapes of request bodies. An unknown field is refused, and no type is guessed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

MAX_WAIT = 600
DEFAULT_WAIT = 30
MAX_TIMEOUT_MS = 3_600_000
Wait = Annotated[float, Field(ge=0, le=MAX_WAIT, allow_inf_nan=False, description="seconds to wait for an outcome")]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class NewExecution(Body):
    code: str
    language: str | None = None
    runtime: str | None = None
    timeout_ms: Annotated[int, Field(ge=1, le=MAX_TIMEOUT_MS)] | None = None
    typecheck: Literal["error", "warn", "off"] | None = None
    wait: Wait = DEFAULT_WAIT


class CheckedCode(Body):
    code: str
    language: str = "typescript"


class CompletedCode(CheckedCode):
    """The place is `line` and `column`, both from 1, or `offset` in characters."""

    line: Annotated[int, Field(ge=1)] | None = None
    column: Annotated[int, Field(ge=1)] | None = None
    offset: Annotated[int, Field(ge=0)] | None = None


class Resume(Body):
    wait: Wait = DEFAULT_WAIT


class Approve(Body):
    """`result` only for an `unknown_outcome`: what the interrupted call answered, as a JSON value."""

    result: Any = None


class Deny(Body):
    reason: Annotated[str, Field(max_length=2000)] = ""


class NewSource(Body):
    location: Annotated[str, Field(max_length=4096)] = ""
    document: str | None = None
    command: Annotated[list[str], Field(max_length=200)] = []
    consent: bool = False
    kind: Annotated[str, Field(max_length=64)] = ""
    namespace: Annotated[str, Field(max_length=64)] = ""
    name: Annotated[str, Field(max_length=200)] = ""
    base_url: Annotated[str, Field(max_length=4096)] = ""
    spec_url: Annotated[str, Field(max_length=4096)] = ""
    headers: dict[str, str] = {}
    options: dict[str, Any] = {}


class NewPolicy(Body):
    pattern: Annotated[str, Field(min_length=1, max_length=500)]
    action: Literal["allow", "require_approval", "deny"]
    position: Annotated[int, Field(ge=0)] | None = None


class PolicyTest(Body):
    path: Annotated[str, Field(min_length=1, max_length=500)]
    arguments: dict[str, Any] | None = None
