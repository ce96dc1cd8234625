"""What is said of code before it runs."""

from __future__ import annotations

from executor.surfaces.api.shapes.base import Shape
from executor.surfaces.api.shapes.executions import Diagnostic


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
