"""What a call is given, as far as it can be read off the code: literals as values, all else as unknown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from executor.checking.source.lexer import OPENING, Language, Token
from executor.checking.source.tool_calls import string_value

MAX_DEPTH = 40
_WORDS: dict[str, dict[str, Any]] = {
    "typescript": {"true": True, "false": False, "null": None},
    "python": {"True": True, "False": False, "None": None},
}
_ABSENT = object()


@dataclass
class Given:
    """`unknown` are the JSON pointers of what can't be read off: nothing about them is certain."""

    value: dict[str, Any] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    is_object: bool = True  # False if something else is certain, as in `tools.a.b(5)`

    def is_certain(self, at: str) -> bool:
        """Whether what a validator says about this place holds whatever the unknown values are."""
        related = (one for one in self.unknown if f"{one}/".startswith(f"{at}/") or f"{at}/".startswith(f"{one}/"))
        return next(related, None) is None


def read_arguments(arguments: Sequence[Token], language: Language) -> Given:
    """The arguments of a call, from the tokens between its parentheses."""
    reading = _Reading(language)
    parts = split(arguments)
    if not parts:
        return reading.given
    if language == "python" and len(parts[0]) > 2 and _is_mark(parts[0][1], "="):
        reading.given.value = reading.fields(parts, "", _keyword, 0)
    elif len(parts) == 1:
        value = reading.value(parts[0], "", 0)
        if isinstance(value, dict):
            reading.given.value = value
        elif reading.given.unknown or value is None or value is _ABSENT:
            reading.given.unknown.add("")
        else:
            reading.given.is_object = False
    else:
        reading.given.unknown.add("")
    return reading.given


class _Reading:
    def __init__(self, language: Language) -> None:
        self._language = language
        self.given = Given()

    def value(self, tokens: Sequence[Token], at: str, depth: int) -> Any:
        first = tokens[0] if tokens else None
        if first is None or depth > MAX_DEPTH:
            return self._unknown(at)
        if len(tokens) == 1:
            return self._single(first, at)
        if first.text in ("-", "+") and len(tokens) == 2 and tokens[1].kind == "number":
            number = number_value(tokens[1].text)
            return self._unknown(at) if number is None else -number if first.text == "-" else number
        if first.text in ("{", "[") and closes_last(tokens):
            parts = split(tokens[1:-1])
            if first.text == "{":
                key = _typescript_key if self._language == "typescript" else _python_key
                return self.fields(parts, at, key, depth)
            return [self.value(part, f"{at}/{index}", depth + 1) for index, part in enumerate(parts)]
        return self._unknown(at)

    def fields(self, parts: Sequence[Sequence[Token]], at: str, key: Any, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for part in parts:
            name, rest = key(part, self._language)
            if name is None:  # a spread, a computed name, a method: any field may be anything
                self.given.unknown.add(at)
                continue
            value = self.value(rest, f"{at}/{unescape_name(name)}", depth + 1)
            if value is not _ABSENT:
                found[name] = value
        return found

    def _single(self, token: Token, at: str) -> Any:
        if token.kind == "string":
            text = string_value(token.text, self._language)
            return self._unknown(at) if text is None else text
        if token.kind == "number":
            number = number_value(token.text)
            return self._unknown(at) if number is None else number
        if token.kind == "name" and token.text in _WORDS[self._language]:
            return _WORDS[self._language][token.text]
        if token.text == "undefined" and self._language == "typescript":
            return _ABSENT
        return self._unknown(at)

    def _unknown(self, at: str) -> Any:
        self.given.unknown.add(at)
        return None


def _keyword(part: Sequence[Token], language: Language) -> tuple[str | None, Sequence[Token]]:
    if len(part) > 2 and part[0].kind == "name" and _is_mark(part[1], "="):
        return part[0].text, part[2:]
    return None, ()


def _python_key(part: Sequence[Token], language: Language) -> tuple[str | None, Sequence[Token]]:
    if len(part) > 2 and part[0].kind == "string" and _is_mark(part[1], ":"):
        return string_value(part[0].text, language), part[2:]
    return None, ()


def _typescript_key(part: Sequence[Token], language: Language) -> tuple[str | None, Sequence[Token]]:
    first = part[0]
    if len(part) == 1 and first.kind == "name":
        return first.text, part  # a shorthand: its value is that of a variable
    if len(part) > 2 and _is_mark(part[1], ":"):
        if first.kind == "name":
            return first.text, part[2:]
        if first.kind == "string":
            return string_value(first.text, language), part[2:]
        if first.kind == "number" and first.text.isdecimal():
            return first.text, part[2:]
    return None, ()


def split(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """At commas outside of brackets; a comma at the end begins nothing."""
    parts: list[Sequence[Token]] = []
    depth, start = 0, 0
    for index, token in enumerate(tokens):
        if token.kind != "mark":
            continue
        if token.text in OPENING:
            depth += 1
        elif token.text in (")", "]", "}"):
            depth -= 1
        elif token.text == "," and depth == 0:
            parts.append(tokens[start:index])
            start = index + 1
    if start < len(tokens):
        parts.append(tokens[start:])
    return [part for part in parts if part]


def closes_last(tokens: Sequence[Token]) -> bool:
    """Whether the first bracket is closed by the last token, not before."""
    depth = 0
    for index, token in enumerate(tokens):
        if token.kind == "mark" and token.text in OPENING:
            depth += 1
        elif token.kind == "mark" and token.text in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return index == len(tokens) - 1
    return False


def number_value(text: str) -> int | float | None:
    plain = text.replace("_", "")
    if re.fullmatch(r"\d{1,15}", plain):
        return int(plain)
    if re.fullmatch(r"\d{0,15}\.\d{1,15}|\d{1,15}\.", plain):
        return float(plain)
    return None


def unescape_name(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _is_mark(token: Token, text: str) -> bool:
    return token.kind == "mark" and token.text == text
