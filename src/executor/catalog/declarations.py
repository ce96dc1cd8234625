"""Declarations of tools for type checkers. They accept every call that the catalog would accept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from executor.catalog.declared_python import python_declarations
from executor.catalog.declared_typescript import typescript_declarations
from executor.catalog.language import Language
from executor.model.tool import Schema, Tool

__all__ = ["Declared", "Language", "declarations", "python_declarations", "typescript_declarations"]


@dataclass(frozen=True, slots=True)
class Declared:
    """`digest` names the text, for whoever keeps what a checker made of it."""

    text: str
    digest: str


def declarations(
    language: Language,
    tools: Sequence[Tool],
    definitions: Mapping[str, Mapping[str, Schema]],
    *,
    anything: Iterable[str] = (),
) -> str:
    write = python_declarations if language == "python" else typescript_declarations
    return write(tools, definitions, anything=anything)
