"""JSON out of the interpreter. A value is bounded in depth and size while it is written: it may be a bomb."""

from __future__ import annotations

import math
import re
from json.encoder import encode_basestring
from typing import Any, Final

import orjson

DEPTH: Final = 200
_DIGITS: Final = 4000
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_AWAITABLE = re.compile(r"<(?:coroutine external_future\(\d+\)|gather\(\d+\)|coroutine object .{1,200})>")
_OBJECT = re.compile(r"<module '[\w.]{1,100}'>|<[\w.]{1,100} object(?:; span=.{1,1000}| at 0x[0-9a-f]+)?>")
_FUNCTION = re.compile(r"<function '.{1,200}' at 0x[0-9a-f]+>")
_VIEW = re.compile(r"dict_(?:keys|values|items)\(\[.*\]\)", re.DOTALL)
_RANGE = re.compile(r"range\(-?\d{1,20}, -?\d{1,20}(?:, -?\d{1,20})?\)")
_FEW, _SCALARS = 8, frozenset({int, float, bool, type(None)})
_LEAST_INTEGER, _MOST_INTEGER = -(2**63), 2**64 - 1  # what readers of JSON here keep exactly

WAYS: Final = {
    "set": "convert it with sorted(value) or list(value)",
    "frozenset": "convert it with sorted(value) or list(value)",
    "view of a dict": "convert it with list(value)",
    "range": "convert it with list(value)",
    "bytes": "convert it with value.decode() or base64.b64encode(value).decode()",
    "datetime": "convert it with value.isoformat()",
    "date": "convert it with value.isoformat()",
    "time": "convert it with value.isoformat()",
    "timedelta": "convert it with value.total_seconds()",
    "Decimal": "convert it with str(value) or float(value)",
    "coroutine": "await it, like `await tools.namespace.name(...)` or `await main()`",
    "function": "call it, or leave it out",
    "NaN": "check it with math.isfinite(value), and leave it out or use None",
    "Infinity": "check it with math.isfinite(value), and leave it out or use None",
    "-Infinity": "check it with math.isfinite(value), and leave it out or use None",
    "whole number beyond 64 bits": "convert it with str(value)",
    "tool": "call it, like `await tools.namespace.name(...)`",
}
quote = encode_basestring
PLAIN_DATA: Final = "use plain data: dicts, lists, strings, numbers, booleans, None"


class Flaw(Exception):
    """What JSON can't carry, and where it lies in the value."""

    def __init__(self, what: str, path: str = "") -> None:
        super().__init__(what)
        self.what, self.path = what, path

    @property
    def hint(self) -> str:
        return WAYS.get(self.what.removeprefix("a "), PLAIN_DATA)


class TooLarge(Exception):
    """There is no room for it."""


class Writer:
    """`room` is what may still be written, in characters.

    Numbers that JSON or its readers can't carry become text in a result. `strict`, for a call, refuses them.
    """

    def __init__(self, room: int, *, strict: bool = False) -> None:
        self._room = room
        self._strict = strict
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
        kind = type(value)
        if kind is str:
            self._put(_text(value))
        elif value is None or kind is bool:
            self._put("null" if value is None else "true" if value else "false")
        elif kind is int or kind is float:
            self._put(self._number(value))
        elif depth >= DEPTH:
            raise Flaw(f"nested deeper than {DEPTH} levels")
        elif kind is dict:
            self._dict(value, depth)
        elif kind is list or kind is tuple or isinstance(value, tuple):
            self._list(value, depth)
        else:
            raise Flaw(_name(value))

    def _dict(self, value: dict[Any, Any], depth: int) -> None:
        separator = "{"
        for key, item in value.items():
            self._put(separator + quote(_key(key)) + ":")
            try:
                self._value(item, depth + 1)
            except Flaw as flaw:
                raise Flaw(flaw.what, _step(_key(key)) + flaw.path) from None
            separator = ","
        self._put("{}" if separator == "{" else "}")

    def _list(self, value: Any, depth: int) -> None:
        if 2 * len(value) > self._room + 2:
            raise TooLarge
        if len(value) > _FEW and _SCALARS.issuperset(map(type, value)) and self._scalars(value):
            return
        separator = "["
        for index, item in enumerate(value):
            self._put(separator)
            try:
                self._value(item, depth + 1)
            except Flaw as flaw:
                raise Flaw(flaw.what, f"[{index}]" + flaw.path) from None
            separator = ","
        self._put("[]" if separator == "[" else "]")

    def _scalars(self, value: Any) -> bool:
        """Many at once, where the library can: it has no numbers beyond 64 bits, and writes NaN as null."""
        try:
            text = orjson.dumps(value)
        except TypeError:
            return False
        if text.count(b"null") > value.count(None):
            return False
        self._put(text.decode())
        return True

    def _number(self, value: float) -> str:
        text = _digits(value)
        if not isinstance(value, float):
            exact, what = _LEAST_INTEGER <= value <= _MOST_INTEGER, "a whole number beyond 64 bits"
        else:
            exact, what = math.isfinite(value), text
        if not exact and self._strict:
            raise Flaw(what)
        return text if exact else quote(text)


def _text(value: str) -> str:
    """What can't leave the interpreter arrives as the text that shows it; a result is never meant to be that."""
    if value.startswith("<"):
        if _AWAITABLE.fullmatch(value):
            raise Flaw("a coroutine")
        if _FUNCTION.fullmatch(value):
            raise Flaw("a function")
        if _OBJECT.fullmatch(value):
            raise Flaw("an object of the interpreter")
    if value.startswith("dict_") and _VIEW.fullmatch(value):
        raise Flaw("a view of a dict")
    if value.startswith("range(") and _RANGE.fullmatch(value):
        raise Flaw("a range")
    return quote(value)


def _digits(value: float) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if value.bit_length() > _DIGITS * 3:
        raise Flaw(f"a whole number of more than {_DIGITS} digits")
    return str(value)


def _key(key: Any) -> str:
    """As the standard library does it: what is no text but plain becomes text."""
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int | float):
        return _digits(key)
    raise Flaw(f"a dict whose key is {_name(key)}")


def _name(value: Any) -> str:
    """`kind` of a proxy separates builtin functions from types; `name` of another is a class of the code."""
    kind = type(value).__name__
    if kind == "Tool":
        return "a tool"
    if kind == "MontyStdTypeProxy":
        return "a function" if value.kind == "function" else "a type"
    if kind == "MontyClassProxy":
        return f"an object of the class {str(value.name)[:100]}"
    if kind.startswith("Monty") or kind == "ExternalModule":
        return "an object of the interpreter"
    return f"a {kind}"


def _step(key: str) -> str:
    return f".{key}" if _PLAIN.fullmatch(key) else f"[{quote(key)}]"
