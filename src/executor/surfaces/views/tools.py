"""Tools, listed and found, and what is said of code before it runs."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from executor.model.tool import Effect
from executor.surfaces.views.executions import Diagnostic


class CheckView(TypedDict):
    ok: bool
    diagnostics: list[Diagnostic]
    unavailable: str | None


class Span(TypedDict):
    line: int
    column: int
    endLine: int
    endColumn: int


class Completion(TypedDict):
    label: str
    kind: str
    detail: str
    documentation: str
    insertText: str
    replace: Span


class Completions(TypedDict):
    items: list[Completion]


class ToolHead(TypedDict):
    path: str
    description: str
    effect: Effect
    deprecated: bool
    source: str


class RenameView(TypedDict):
    was: str
    path: str


class LabelledView(TypedDict):
    """Tools that have other paths now. `rules` are policies that allowed calls under the old names and no longer do."""

    renamed: list[RenameView]
    reworded: list[str]
    rules: list[str]


class ToolPage(TypedDict):
    items: list[ToolHead]
    next: str | None


class ToolMatches(TypedDict):
    bestPath: str | None
    items: list[dict[str, Any]]
    total: int
    groups: NotRequired[dict[str, int] | None]
    hint: NotRequired[str | None]
