"""Conditions on a call's arguments: does what a JSON pointer names equal, belong to, match, or stay within something?

A condition that can't be judged (nothing there, another type) does not apply to `allow`; see `decide`, where a policy
that tightens takes the same doubt the other way.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

import orjson

from executor.errors import InvalidRequest
from executor.model.digest import plain_numbers
from executor.model.policy import Condition, Test

if TYPE_CHECKING:
    import jsonschema_rs

MAX_PATTERN = 200
MAX_SUBJECT = 10_000
MAX_CONDITIONS = 20
MAX_VALUE = 4_000
MAX_NUMBER = 100  # characters of a text that may be a number
MISSING: Any = object()


class Arguments(dict[str, Any]):
    """Arguments as they are judged. Fields that came inside `body` are beside the others, and found there as well."""

    def __init__(self, arguments: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        super().__init__(arguments)
        self._body = body

    def get(self, name: str, default: Any = None) -> Any:
        return self._body if name == "body" and name not in self else super().get(name, default)


def parse_condition(raw: Mapping[str, Any]) -> Condition:
    path, test, value = raw.get("path"), raw.get("test"), raw.get("value")
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise wrong(f"the path {path!r} is not a JSON pointer", "for example: /owner or /items/0/price")
    if test not in get_args(Test):
        raise wrong(f"unknown test {test!r}", f"use one of {', '.join(get_args(Test))}")
    if test == "one_of" and not isinstance(value, list):
        raise wrong(f"one_of needs a list, not {value!r}", 'for example: {"test": "one_of", "value": ["a", "b"]}')
    if test in ("at_most", "at_least") and not is_number(value):
        raise wrong(f"{test} needs a number, not {value!r}", "for example: 100")
    if test == "matches":
        compile_pattern(value)
    if len(orjson.dumps(value)) > MAX_VALUE:
        raise wrong(f"a value has at most {MAX_VALUE} characters", "write a pattern or a bound instead")
    return Condition(path, test, value)  # type: ignore[arg-type]  # one of the literals, as was checked


def holds(condition: Condition, arguments: Mapping[str, Any]) -> bool | None:
    """None when it can't be judged: nothing is there, or something of another kind than the test is about."""
    found = resolve(arguments, condition.path)
    if found is MISSING:
        return None
    if condition.test == "equals":
        return equals(found, condition.value)
    if condition.test == "one_of":
        verdicts = [equals(found, value) for value in condition.value]
        return True if True in verdicts else None if None in verdicts else False
    if condition.test == "matches":
        return matches(found, condition.value)
    if not is_number(found):
        return None
    return bool(found <= condition.value if condition.test == "at_most" else found >= condition.value)


def equals(found: Any, wanted: Any) -> bool | None:
    """`5` and `"5"` are in doubt: in an address they are the same, and many services take one for the other. So is a
    list or an object in place of a single value: a form sends `[5, 6]` as `id=5&id=6`, and `{"id": 5}` as `id=5`."""
    if same(found, wanted):
        return True
    if kind_of(found) == kind_of(wanted):
        return False
    if isinstance(found, Mapping | list | tuple) or text_of(found) == text_of(wanted):
        return None
    return None if is_number(wanted) and number_in(found) == wanted else False


def number_in(value: Any) -> float | None:
    """`"05"`, `" 5"` and `"5.0"` are 5 to a service that expects a number."""
    try:
        return float(value) if isinstance(value, str) and len(value) <= MAX_NUMBER else None
    except ValueError:
        return None


def kind_of(value: Any) -> str:
    return "number" if is_number(value) else type(value).__name__


def text_of(value: Any) -> str | None:
    """As an address or a form would hold it; None for what is no single value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, list | tuple) and len(value) == 1:
        return text_of(value[0])
    return str(plain_numbers(value)) if is_number(value) else None


def matches(found: Any, pattern: str) -> bool | None:
    """The whole text must match; longer text than any sensible policy is about can't be judged."""
    if not isinstance(found, str) or len(found) > MAX_SUBJECT:
        return None
    return compile_pattern(pattern).is_valid(found)


@lru_cache(maxsize=1024)
def compile_pattern(text: Any) -> jsonschema_rs.Draft202012Validator:
    """By an engine without backtracking: whatever pattern an operator writes, no text that code sends can hold the
    daemon up."""
    import jsonschema_rs  # for the first pattern; see docs/decisions/imports-at-first-use.md

    if not isinstance(text, str) or len(text) > MAX_PATTERN:
        raise wrong(f"a pattern is text of at most {MAX_PATTERN} characters", "for example: refs/heads/release-[0-9]+")
    whole = {"allOf": [{"pattern": text}, {"pattern": rf"\A(?:{text})\z"}]}  # alone first: it may not close our group
    linear = jsonschema_rs.RegexOptions(size_limit=1_000_000)
    try:
        return jsonschema_rs.Draft202012Validator(whole, offline=True, pattern_options=linear)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        hint = "write it without lookaround and backreferences"
        raise wrong(f"the pattern {text!r} is not a supported regular expression", hint) from error


def resolve(value: Any, pointer: str) -> Any:
    """What two keys claim that many services take for one (`to` and `To`) can't be judged, so nothing is there."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = MISSING if is_ambiguous(value, name) else value.get(name, MISSING)
        elif isinstance(value, Sequence) and not isinstance(value, str) and name.isdecimal() and len(name) < 10:
            value = value[int(name)] if int(name) < len(value) else MISSING
        else:
            return MISSING
    return value


def is_ambiguous(value: Mapping[str, Any], name: str) -> bool:
    wanted = fold_name(name)
    return any(key != name and fold_name(key) == wanted for key in value)


def fold_name(name: str) -> str:
    return name.casefold() if name.isascii() else unicodedata.normalize("NFKC", name).casefold()


def same(one: Any, other: Any) -> bool:
    """As JSON sees it: `true` is not 1, 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def wrong(message: str, hint: str) -> InvalidRequest:
    return InvalidRequest(f"condition: {message}", hint=hint)
