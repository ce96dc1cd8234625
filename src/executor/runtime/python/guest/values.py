"""JSON of what the code hands out: as Python users expect it, bounded in depth and size, or refused with the place."""

from __future__ import annotations

import array
import collections
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import fractions
import inspect
import io
import ipaddress
import json
import math
import os
import re
import types
import uuid
from json.encoder import encode_basestring as quote
from typing import Any

DEPTH = 200
_DIGITS = 4000
_SHALLOW = 200
_LONG_NUMBER = re.compile(r"\d{19}")
_CONVERTED_KEY = re.compile(r'[{,]"(?:-?\d[\d.e+-]*|true|false|null)":')
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_LEAST_INTEGER, _MOST_INTEGER = -(2**63), 2**64 - 1  # what readers of JSON here keep exactly
_AS_TEXT = (
    datetime.date, datetime.time, decimal.Decimal, fractions.Fraction, uuid.UUID, os.PathLike,
    ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network,
)  # fmt: skip
_AS_LIST = (
    range, array.array, memoryview, collections.deque, collections.UserList, collections.abc.KeysView,
    collections.abc.ValuesView, collections.abc.ItemsView, collections.abc.Iterator,
)  # fmt: skip
_PLAIN_DATA = "use plain data: dicts, lists, strings, numbers, booleans, None"
_BYTES = "convert it with value.decode(errors='replace') or base64.b64encode(value).decode()"
_HINTS: dict[type, str] = {
    complex: "use [value.real, value.imag], or str(value)",
    re.Match: "use value.group(), value.groups() or value.groupdict()",
    io.StringIO: "use value.getvalue()",
    io.BytesIO: "use value.getvalue()",
    datetime.tzinfo: "use str(value)",
}
_FINITE = "check it with math.isfinite(value), and leave it out or use None"


class Flaw(Exception):
    """What JSON can't carry, and where it lies in the value."""

    def __init__(self, what: str, hint: str = _PLAIN_DATA, path: str = "") -> None:
        super().__init__(what)
        self.what, self.hint, self.path = what, hint, path

    @property
    def place(self) -> str:
        path = f"${self.path}"
        return path if len(path) <= 200 else path[:200] + "…"

    def below(self, step: str) -> Flaw:
        return Flaw(self.what, self.hint, step + self.path)


class TooLarge(Exception):
    """There is no room for it."""


def write(value: Any, room: int, *, strict: bool = False) -> str:
    """At most `room` characters. Numbers that JSON can't carry become text; `strict`, for a call, refuses them."""
    text = _write_fast(value, room)
    return text if text is not None else Writer(room, strict=strict).text(value)


def _write_fast(value: Any, room: int) -> str | None:
    """By the library's encoder, where the outcome is sure to be the same; None otherwise."""
    kind = type(value)
    if kind is str:
        if len(value) > room:
            raise TooLarge
        return quote(value)
    if kind not in (dict, list, tuple):
        return None
    _measure(value, room, {}, DEPTH)
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError, MemoryError):
        return None
    if len(text) > room:
        raise TooLarge
    is_plain = text.count("[") + text.count("{") <= _SHALLOW
    return text if is_plain and not _LONG_NUMBER.search(text) and not _CONVERTED_KEY.search(text) else None


def _measure(value: Any, room: int, known: dict[int, int], depth: int) -> int:
    """At least how many characters it takes. The encoder has no limit, and what is shared counts each time."""
    if (seen := known.get(id(value))) is not None:
        return seen
    known[id(value)] = 0  # what contains itself is left to the encoder, and so is what lies too deep
    size = 2 * len(value)
    if depth:
        for item in value.values() if type(value) is dict else value:
            kind = type(item)
            if kind is str:
                size += len(item)
            elif kind is list or kind is dict or kind is tuple:
                size += _measure(item, room, known, depth - 1)
                if size > room:
                    raise TooLarge
    if size > room:
        raise TooLarge
    known[id(value)] = size
    return size


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class Writer:
    def __init__(self, room: int, *, strict: bool = False) -> None:
        self._room, self._strict = room, strict
        self._parts: list[str] = []

    def text(self, value: Any) -> str:
        self._value(value, 0)
        return "".join(self._parts)

    def _put(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            raise TooLarge
        self._parts.append(text)

    def _value(self, value: Any, depth: int) -> None:
        if value is None or value is True or value is False:
            self._put("null" if value is None else "true" if value else "false")
        elif isinstance(value, enum.Enum):
            self._value(value.value, depth + 1)
        elif isinstance(value, str):
            self._put(quote(value))
        elif isinstance(value, (int, float)):
            self._put(self._number(value))
        elif depth >= DEPTH:
            raise Flaw(f"nested deeper than {DEPTH} levels")
        elif isinstance(value, (dict, collections.abc.Mapping)):
            self._dict(value, depth)
        elif isinstance(value, (list, tuple)):
            self._list(value, depth)
        else:
            self._other(value, depth)

    def _other(self, value: Any, depth: int) -> None:
        if isinstance(value, _AS_TEXT):
            self._put(quote(value.isoformat() if hasattr(value, "isoformat") else str(value)))
        elif isinstance(value, datetime.timedelta):
            self._value(value.total_seconds(), depth)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            self._dict({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, depth)
        elif isinstance(value, (set, frozenset)):
            self._list(_in_order(value), depth)
        elif isinstance(value, (bytes, bytearray)):
            self._put(quote(_decode(value)))
        elif isinstance(value, BaseException):
            self._dict(describe_error(value), depth)
        elif isinstance(value, types.SimpleNamespace):
            self._dict(vars(value), depth)
        elif isinstance(value, re.Pattern):
            self._value(value.pattern, depth)
        elif isinstance(value, _AS_LIST) and not isinstance(value, io.IOBase):
            self._list(value, depth)
        elif (type(value).__module__, type(value).__name__) == ("sqlite3", "Row"):
            self._dict(dict(value), depth)
        else:
            raise _refuse(value)

    def _dict(self, value: Any, depth: int) -> None:
        separator, names = "{", set[str]()
        for key, item in value.items():
            name = self._key(key)
            if name in names:
                raise Flaw(f"a dict with two keys that are {quote(name)} in JSON", "use text as keys, all different")
            names.add(name)
            self._put(separator + quote(name) + ":")
            try:
                self._value(item, depth + 1)
            except Flaw as flaw:
                raise flaw.below(f".{name}" if _PLAIN.fullmatch(name) else f"[{quote(name)}]") from None
            separator = ","
        self._put("{}" if separator == "{" else "}")

    def _list(self, value: Any, depth: int) -> None:
        separator = "["
        for index, item in enumerate(value):
            self._put(separator)
            try:
                self._value(item, depth + 1)
            except Flaw as flaw:
                raise flaw.below(f"[{index}]") from None
            separator = ","
        self._put("[]" if separator == "[" else "]")

    def _key(self, key: Any) -> str:
        if isinstance(key, enum.Enum):
            key = key.value
        if isinstance(key, str):
            return str(key)
        if key is None or isinstance(key, bool):
            return "null" if key is None else "true" if key else "false"
        if isinstance(key, (int, float)):
            return _digits(key)
        if isinstance(key, _AS_TEXT):
            return str(key.isoformat() if hasattr(key, "isoformat") else key)
        hint = "use text as keys, such as f'{a}-{b}'"
        raise Flaw(f"a dict whose key is {_article(type(key).__name__)}", hint)

    def _number(self, value: float) -> str:
        text = _digits(value)
        if isinstance(value, float):
            exact, what, hint = math.isfinite(value), text, _FINITE
        else:
            exact, what = _LEAST_INTEGER <= value <= _MOST_INTEGER, "a whole number beyond 64 bits"
            hint = "convert it with str(value)"
        if not exact and self._strict:
            raise Flaw(what, hint)
        return text if exact else quote(text)


def _digits(value: float) -> str:
    if isinstance(value, float):
        return float.__repr__(value) if math.isfinite(value) else _name_of_infinite(value)
    if value.bit_length() > _DIGITS * 3:
        raise Flaw(f"a whole number of more than {_DIGITS} digits", "convert it with hex(value), or round it")
    return int.__repr__(value)


def _name_of_infinite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _in_order(value: Any) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        return list(value)


def _decode(value: Any) -> str:
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        raise Flaw(f"{type(value).__name__} that is no UTF-8 text", _BYTES) from None


def describe_error(error: BaseException) -> dict[str, Any]:
    """As TypeScript's errors are written: name, message, and the fields of a ToolError."""
    described: dict[str, Any] = {"name": type(error).__name__, "message": str(error)}
    for name in ("code", "status", "details", "retryable", "hint"):
        if hasattr(error, name) and type(error).__name__ == "ToolError":
            described[name] = getattr(error, name)
    if isinstance(error, BaseExceptionGroup):
        described |= {"message": error.message, "errors": error.exceptions}
    return described


def _refuse(value: Any) -> Flaw:
    kind = type(value)
    if inspect.isawaitable(value):
        return Flaw("a coroutine", "await it, like `await tools.namespace.name(...)` or `await main()`")
    if kind.__module__ == "tools" and kind.__name__ == "Tool":
        return Flaw("a tool", "call it, like `await tools.namespace.name(...)`")
    if inspect.isroutine(value):
        return Flaw("a function", "call it, or leave it out")
    if isinstance(value, type):
        return Flaw(f"the class {kind_name(value)}", "return its name, value.__name__, or an instance's data")
    if isinstance(value, types.ModuleType):
        return Flaw(f"the module {value.__name__}", "return what it gives, not the module")
    if isinstance(value, collections.abc.AsyncIterable):
        return Flaw("an asynchronous iterator", "collect it: `[item async for item in value]`")
    if kind.__module__ == "__main__":
        way = "use vars(value), or make" if hasattr(value, "__dict__") else "make"
        return Flaw(f"an object of the class {kind_name(kind)}", f"{way} the class a dataclass")
    hint = next((hint for known, hint in _HINTS.items() if isinstance(value, known)), _PLAIN_DATA)
    return Flaw(_article(kind.__name__), hint)


def kind_name(kind: type) -> str:
    return kind.__name__[:100]


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name[:100]}"
