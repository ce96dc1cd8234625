"""What every shape is, and the words that many of them use."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

Status = Literal["queued", "running", "paused", "completed", "failed", "cancelled"]
Effect = Literal["read", "write", "destructive"]


class Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class Problem(BaseModel):
    model_config = ConfigDict(extra="allow")
    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str


class Failure(Shape):
    model_config = ConfigDict(extra="allow")
    code: str
    message: str
    hint: str
