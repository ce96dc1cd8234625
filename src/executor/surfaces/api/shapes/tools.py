"""Tools, listed and found."""

from __future__ import annotations

from typing import Any

from executor.surfaces.api.shapes.base import Effect, Shape


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
