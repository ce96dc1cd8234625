"""Edits one table of a TOML text that people keep, statement by statement; everything else stays as it is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from executor.dataclass import dataclass
from executor.surfaces.cli.client_files.text import Unsupported, Unusable, newline_of
from executor.surfaces.clients.snippets import toml

# Of a value that is known to be valid: strings, comments, brackets, the end of a line, and runs of everything else.
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|'
    r"'''.*?'{3,5}|"
    r'"(?:[^"\\\n]|\\.)*"|'
    r"'[^'\n]*'|#[^\n]*|[\[{]|[\]}]|\n|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)
_KEY = re.compile(r"""(?:[^="']|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')+=""")


@dataclass(frozen=True, slots=True)
class Statement:
    """`table` is where it is: for a header the table that it opens, and then `key` is None."""

    table: tuple[str, ...]
    key: tuple[str, ...] | None
    start: int
    value: int
    value_end: int
    end: int


def read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise Unusable(str(error)) from None


def put(text: str, path: Sequence[str], values: dict[str, Any], drop: frozenset[str] = frozenset()) -> str:
    """With `values` in the table at `path`, and without the keys in `drop`."""
    present = _at(read(text), path)
    newline = newline_of(text)
    if present is None:
        if path[0] in read(text) and any(one.key and one.key[0] == path[0] for one in _root_keys(text)):
            raise Unsupported(f"{path[0]!r} is written inline")
        body = newline.join([f"[{'.'.join(path)}]", *(f"{key} = {toml(value)}" for key, value in values.items()), ""])
        ended = text if not text or text.endswith("\n") else text + newline
        return ended + (newline if text.strip() else "") + body
    for key in sorted(drop & present.keys()):
        text = _drop_key(text, path, key)
    for key, value in values.items():
        if present.get(key) != value:
            text = _put_key(text, path, key, value, is_new=key not in present)
    return text


def remove(text: str, path: Sequence[str]) -> str:
    """Without the table at `path` and those below it. Comments before the next table stay."""
    if _at(read(text), path) is None:
        return text
    found = [one for one in _statements(text) if one.table[: len(path)] == tuple(path)]
    if not found or found[0].key is not None:
        raise Unsupported(f"{'.'.join(path)!r} is written inline")
    spans: list[list[int]] = []
    for one in found:
        if one.key is None:
            spans.append([one.start, one.end])
        else:
            spans[-1][1] = one.end
    for start, end in reversed(spans):
        if text[:start].endswith(("\n\n", "\n\r\n")) and not text[end:].strip():
            start -= 2 if text[:start].endswith("\r\n") else 1
        text = text[:start] + text[end:]
    return text


def mask(text: str, path: Sequence[str], shown: frozenset[str]) -> str:
    """For showing: values and comments are left out, since either may be a secret, except `shown` keys at `path`."""
    pieces: list[str] = []
    at = 0
    for one in _statements(text):
        pieces.append(_mask_comments(text[at : one.start]))
        if one.key is None:
            pieces.append(text[one.start : one.end])
        elif one.table == tuple(path) and one.key[0] in shown:
            pieces += [text[one.start : one.value_end], _mask_comments(text[one.value_end : one.end])]
        else:
            pieces += [text[one.start : one.value], " …", _mask_comments(text[one.value_end : one.end])]
        at = one.end
    return "".join(pieces) + _mask_comments(text[at:])


def _mask_comments(gap: str) -> str:
    return re.sub(r"#[^\r\n]*", "# …", gap)


def _put_key(text: str, path: Sequence[str], key: str, value: Any, *, is_new: bool) -> str:
    inside = [one for one in _statements(text) if one.table == tuple(path)]
    if not inside:
        raise Unsupported(f"{'.'.join(path)!r} is written inline")
    if is_new:
        at = inside[-1].end
        newline = newline_of(text)
        ended = "" if text[:at].endswith("\n") else newline
        return text[:at] + ended + f"{key} = {toml(value)}{newline}" + text[at:]
    one = _only(inside, path, key)
    return text[: one.value] + f" {toml(value)}" + text[one.value_end :]


def _drop_key(text: str, path: Sequence[str], key: str) -> str:
    one = _only([one for one in _statements(text) if one.table == tuple(path)], path, key)
    return text[: one.start] + text[one.end :]


def _only(inside: Sequence[Statement], path: Sequence[str], key: str) -> Statement:
    found = [one for one in inside if one.key == (key,)]
    if len(found) != 1:
        raise Unsupported(f"{key!r} in {'.'.join(path)!r} is a table")
    return found[0]


def _root_keys(text: str) -> list[Statement]:
    return [one for one in _statements(text) if not one.table and one.key]


def _at(data: Any, path: Sequence[str]) -> dict[str, Any] | None:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    if data is not None and not isinstance(data, dict):
        raise Unsupported(f"{'.'.join(path)!r} is not a table")
    return data


def _statements(text: str) -> list[Statement]:
    """Of a text that is valid. Gaps and comments between statements belong to none."""
    found: list[Statement] = []
    table: tuple[str, ...] = ()
    at = 0
    while at < len(text):
        line = text[at : _line_end(text, at)]
        if not line.strip() or line.lstrip().startswith("#"):
            at += len(line)
            continue
        if line.lstrip().startswith("["):
            end = at + len(line)
            table = _names(tomllib.loads(line.replace("\r\n", "\n")))
            found.append(Statement(table, None, at, at, at, end))
        else:
            equals = _KEY.match(text, at)
            value = equals.end() if equals else at
            value_end, end = _ends(text, value)
            key = _names(tomllib.loads(f"{text[at:value]}0"))
            found.append(Statement(table, key, at, value, value_end, end))
        at = end
    return found


def _names(data: Any) -> tuple[str, ...]:
    """Of a document with one key or one header."""
    names: list[str] = []
    while isinstance(data, (dict, list)) and data:
        if isinstance(data, list):
            data = data[0]
            continue
        [(name, data)] = data.items()
        names.append(name)
    return tuple(names)


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _ends(text: str, at: int) -> tuple[int, int]:
    """Where a value ends, and where its statement does, after a comment and the line."""
    depth, last = 0, at
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise Unsupported("a value in it is not understood")
        at = token.end()
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
        elif token[0] == "\n" and depth == 0:
            break
        if not token[0].startswith("#") and token[0].strip():
            last = token.start() + len(token[0].rstrip())
    return last, at
