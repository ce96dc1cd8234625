"""The languages that code is submitted in."""

from __future__ import annotations

from typing import Literal

Language = Literal["typescript", "python"]
LANGUAGES: tuple[Language, ...] = ("typescript", "python")


def spoken(language: str) -> Language:
    """What signatures are written in for code of any language: for one without its own, in TypeScript."""
    return "python" if language == "python" else "typescript"
