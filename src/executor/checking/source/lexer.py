"""The words of a program, without understanding it: names, literals and brackets, in time linear in its length.

A parser may hang or overflow on what agents send, and this runs in the daemon. Comments and the insides of strings can
say nothing: they are no names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from executor.dataclass import dataclass

Language = Literal["typescript", "python"]
Kind = Literal["name", "string", "number", "mark", "text"]
MAX_TOKENS = 40_000

_NAME = r"[^\W\d][\w$]*|\$[\w$]*"
_NUMBER = r"(?:0[xXbBoO][\da-fA-F_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?)n?"
_TYPESCRIPT = re.compile(
    rf"""(?P<skip>\s+|//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
    |(?P<name>{_NAME})
    |(?P<number>{_NUMBER})
    |(?P<string>"(?:[^"\\\n]|\\.|\\\Z)*+"?|'(?:[^'\\\n]|\\.|\\\Z)*+'?)
    |(?P<mark>=>|\?\.|\.\.\.|[^\w\s])""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_PYTHON = re.compile(
    rf"""(?P<skip>\s+|\#[^\n]*|\\\n)
    |(?P<string>[rRbBuUfF]{{0,2}}(?:\"\"\"(?:[^\\]|\\.|\\\Z)*?(?:\"\"\"|\Z)|'''(?:[^\\]|\\.|\\\Z)*?(?:'''|\Z)
        |"(?:[^"\\\n]|\\.|\\\Z)*+"?|'(?:[^'\\\n]|\\.|\\\Z)*+'?))
    |(?P<name>{_NAME})
    |(?P<number>{_NUMBER})
    |(?P<mark>:=|->|\*\*|[^\w\s])""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# Bounded: many slashes that begin none would each be looked at to the end of the line.
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,500}/[a-z]*")
_PREFIX = re.compile(r"[a-zA-Z]*")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\\\Z|\$(?!\{))*+(?:`|\$\{|\Z)", re.DOTALL)
_BEFORE_REGEX = frozenset({"return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "await", "yield"})
_KINDS: dict[str, Kind] = {"name": "name", "number": "number", "string": "string", "mark": "mark"}
OPENING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is a piece of a string with values in it; its value is not known here."""

    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class TooLong(Exception):
    """More words than anyone looks through."""


def words(code: str) -> set[str]:
    """Every name that could be meant anywhere in the code, also inside a string: more than are used, never fewer."""
    return set(re.findall(r"[^\W\d]\w*", code))


def tokens(code: str, language: Language) -> list[Token]:
    found: list[Token] = []
    for token in _typescript(code) if language == "typescript" else _python(code):
        found.append(token)
        if len(found) > MAX_TOKENS:
            raise TooLong
    return found


def _python(code: str) -> Iterator[Token]:
    position = 0
    while position < len(code):
        match = _PYTHON.match(code, position)
        if match is None:
            position += 1
            continue
        position = match.end()
        token = _token(match)
        if token is not None and token.kind == "string" and is_made(token.text):
            token = Token("text", token.text, token.start)
        if token is not None:
            yield token


def is_made(text: str) -> bool:
    """Whether a string of Python has values in it."""
    prefix = _PREFIX.match(text)
    return prefix is not None and "f" in prefix.group().lower()


def _typescript(code: str) -> Iterator[Token]:
    """`depths` has an entry for each template whose `${` is open: how many braces are open inside it."""
    position, depths, before = 0, list[int](), Token("mark", ";", 0)
    while position < len(code):
        character = code[position]
        if character == "`" or (character == "}" and depths and depths[-1] == 0):
            if character == "}":
                depths.pop()
            match = _TEMPLATE.match(code, position + 1)
        elif character == "/" and _may_be_regex(before):
            match = _REGEX.match(code, position) or _TYPESCRIPT.match(code, position)
        else:
            match = _TYPESCRIPT.match(code, position)
        if match is None:
            position += 1
            continue
        if match.re is _TEMPLATE:
            before = Token("text", code[position : match.end()], position)
            if before.text.endswith("${"):
                depths.append(0)
            elif character == "`" and before.text.endswith("`") and len(before.text) > 1:
                before = Token("string", before.text, position)
            yield before
        elif match.re is _REGEX:
            before = Token("text", match.group(), position)
            yield before
        elif (token := _token(match)) is not None:
            if depths and token.text in "{}":
                depths[-1] += 1 if token.text == "{" else -1
            before = token
            yield token
        position = match.end()


def _token(match: re.Match[str]) -> Token | None:
    kind = _KINDS.get(match.lastgroup or "")
    return Token(kind, match.group(), match.start()) if kind else None


def _may_be_regex(before: Token) -> bool:
    if before.kind == "mark":
        return before.text not in (")", "]", "}")
    return before.kind == "name" and before.text in _BEFORE_REGEX


def partners(found: list[Token]) -> dict[int, int]:
    """The index of the closing bracket of each opening one, by index; brackets that don't match have none."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for index, token in enumerate(found):
        if token.kind != "mark":
            continue
        if token.text in OPENING:
            stack.append(index)
        elif token.text in (")", "]", "}"):
            while stack:
                opened = stack.pop()
                if OPENING[found[opened].text] == token.text:
                    pairs[opened] = index
                    break
    return pairs
