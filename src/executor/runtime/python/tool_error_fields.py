"""`error.code` of a caught error: the interpreter's errors carry nothing but a text.

Where the code reads a field of a ToolError from a name that an `except … as name` binds, `name.code` becomes
`error_of(name).code`. Strings and comments stay as they are, f-strings are entered, and lines stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_FIELDS = "code|message|status|details|retryable|hint"
_BOUND = re.compile(r"\bexcept\b[^\n#]{0,500}?\bas\s+([A-Za-z_]\w*)\s*:")
_STOP = re.compile(r"#[^\n]*|[A-Za-z]{0,2}(?:'''|\"\"\"|'|\")|[{}]")
_REST = {
    "'": re.compile(r"(?:\\.|[^\\\n'])*'?", re.DOTALL),
    '"': re.compile(r'(?:\\.|[^\\\n"])*"?', re.DOTALL),
    "'''": re.compile(r"(?:\\.|[^\\])*?(?:'''|\Z)", re.DOTALL),
    '"""': re.compile(r'(?:\\.|[^\\])*?(?:"""|\Z)', re.DOTALL),
}
_OPEN = "error_of("


class Inserted(NamedTuple):
    """Where in the new text, counted from 1, something was put before and after a name of `length` characters."""

    line: int
    column: int
    length: int


class Rewritten(NamedTuple):
    code: str
    inserted: tuple[Inserted, ...] = ()

    def column(self, line: int, column: int) -> int:
        """As the user wrote it."""
        for spot in reversed(self.inserted):
            if spot.line == line and column > spot.column:
                past = column >= spot.column + len(_OPEN) + spot.length
                column = max(spot.column, column - len(_OPEN) - past)
        return column

    def restore_text(self, text: str) -> str:
        """Text of the interpreter that quotes the code."""
        return re.sub(r"error_of\((\w+)\)(?=\.)", r"\1", text) if self.inserted else text


def rewrite(code: str) -> Rewritten:
    names = sorted({found.group(1) for found in _BOUND.finditer(code)})
    if not names:
        return Rewritten(code)
    field = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, names))})(?=\.(?:{_FIELDS})\b)")
    try:
        spots = [found.span() for start, end in _plain(code) for found in field.finditer(code, start, end)]
    except RecursionError:
        return Rewritten(code)
    parts, inserted, at, grown = [], [], 0, 0
    line, line_start = 1, 0
    for start, end in sorted(spots):
        newlines = code.count("\n", at, start)
        if newlines:
            line, line_start, grown = line + newlines, code.rfind("\n", 0, start) + 1, 0
        inserted.append(Inserted(line, start - line_start + 1 + grown, end - start))
        parts += [code[at:start], _OPEN, code[start:end], ")"]
        at, grown = end, grown + len(_OPEN) + 1
    return Rewritten("".join([*parts, code[at:]]), tuple(inserted))


def _plain(code: str) -> Iterator[tuple[int, int]]:
    """The stretches of the code that are neither string nor comment."""
    found: list[tuple[int, int]] = []
    _scan(code, 0, found, nested=False)
    return iter(found)


def _scan(code: str, at: int, found: list[tuple[int, int]], *, nested: bool) -> int:
    """From `at` to the end, or to the brace that ends an f-string's field. Where it stopped."""
    depth = 0
    while (stop := _STOP.search(code, at)) is not None:
        found.append((at, stop.start()))
        found_here = stop.group()
        at = stop.end()
        if found_here == "{":
            depth += 1
        elif found_here == "}":
            if nested and depth == 0:
                return at
            depth = max(0, depth - 1)
        elif not found_here.startswith("#"):
            at = _string(code, at, found_here, found)
    found.append((at, len(code)))
    return len(code)


def _string(code: str, at: int, token: str, found: list[tuple[int, int]]) -> int:
    quote = token.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    prefix = token[: -len(quote)].lower()
    if "f" not in prefix:
        rest = _REST[quote].match(code, at)
        return rest.end() if rest is not None else len(code)
    special = re.compile(rf"{quote}|\\.|\{{\{{|\{{" + ("" if len(quote) == 3 else "|\n"), re.DOTALL)
    while (stop := special.search(code, at)) is not None:
        at = stop.end()
        if stop.group() in (quote, "\n"):
            return at
        if stop.group() == "{":
            at = _scan(code, at, found, nested=True)
    return len(code)
