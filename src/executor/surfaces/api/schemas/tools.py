"""Tools, listed and found."""

from __future__ import annotations

from typing import Any

from executor.surfaces.api.schemas.base import Effect, Shape
from executor.surfaces.api.schemas.executions import Diagnostic


# What is said of code before it runs.
class CheckView(Shape):
    ok: bool
    diagnostics: list[Diagnostic]
    unavailable: str | None


class Span(Shape):
    line: int
    column: int
    end_line: int
    end_column: int


class Completion(Shape):
    label: str
    kind: str
    detail: str
    documentation: str
    insert_text: str
    replace: Span


class Completions(Shape):
    items: list[Completion]


class ToolHead(Shape):
    path: str
    description: str
    effect: Effect
    deprecated: bool
    source: str


class RenameView(Shape):
    was: str
    path: str


class LabelledView(Shape):
    """Tools that have other paths now. `rules` allowed calls under the names before and no longer do."""

    renamed: list[RenameView]
    reworded: list[str]
    rules: list[str]


class ToolPage(Shape):
    items: list[ToolHead]
    next: str | None


class ToolMatches(Shape):
    best_path: str | None
    items: list[dict[str, Any]]
    total: int
    groups: dict[str, int] | None = None
    hint: str | None = None
