from __future__ import annotations

import time
from typing import Any

import pytest

from executor.errors import InvalidRequest
from executor.model.policy import Condition
from executor.policy.conditions import holds, parse_condition

ARGUMENTS = {
    "owner": "acme",
    "amount": 50,
    "on": True,
    "nothing": None,
    "items": [{"price": 1.0}, {"price": 2}],
    "a/b": {"~": "tilde"},
    "flags": [True],
    "deep": {"x": [{"y": False}]},
}


@pytest.mark.parametrize(
    ("path", "test", "value", "verdict"),
    [
        ("/owner", "equals", "acme", True),
        ("/owner", "equals", "ACME", False),
        ("/owner", "equals", "acme ", False),
        ("/amount", "equals", 50.0, True),
        ("/amount", "equals", "50", None),
        ("/amount", "equals", "5", False),
        ("/amount", "equals", [50], None),
        ("/on", "equals", "true", None),
        ("/amount", "one_of", ["x", "50"], None),
        ("/amount", "one_of", ["50", 50], True),
        ("/on", "equals", 1, False),
        ("/on", "equals", True, True),
        ("/flags", "equals", [1], False),
        ("/flags", "equals", [True], True),
        ("/deep", "equals", {"x": [{"y": 0}]}, False),
        ("/deep", "equals", {"x": [{"y": False}]}, True),
        ("/nothing", "equals", None, True),
        ("/missing", "equals", None, None),
        ("/owner", "one_of", ["x", "acme"], True),
        ("/owner", "one_of", [], False),
        ("/owner", "matches", "a[a-z]+", True),
        ("/owner", "matches", "a", False),
        ("/amount", "matches", "50", None),
        ("/amount", "at_most", 50, True),
        ("/amount", "at_most", 49.9, False),
        ("/amount", "at_least", 51, False),
        ("/on", "at_most", 5, None),
        ("/owner", "at_least", 1, None),
        ("/items/0/price", "equals", 1, True),
        ("/items/1/price", "at_least", 2, True),
        ("/items/2/price", "equals", 1, None),
        ("/items/-", "equals", 1, None),
        ("/a~1b/~0", "equals", "tilde", True),
        ("/owner/0", "equals", "a", None),
        ("", "equals", ARGUMENTS, True),
    ],
)
def test_a_condition_holds_or_not_or_can_not_be_judged(path: str, test: Any, value: Any, verdict: bool | None) -> None:
    assert holds(Condition(path, test, value), ARGUMENTS) is verdict


@pytest.mark.parametrize("given", ["acme\n", "\nacme", "x\nacme\ny"])
def test_a_pattern_covers_the_whole_text(given: str) -> None:
    assert holds(Condition("/owner", "matches", "acme"), {"owner": given}) is False


def test_no_pattern_is_slow_whatever_the_text() -> None:
    condition = Condition("/x", "matches", "(a|aa|a?)+$b")
    began = time.process_time()
    assert holds(condition, {"x": "a" * 10_000}) is False
    assert time.process_time() - began < 5
    assert holds(condition, {"x": "a" * 10_001}) is None


@pytest.mark.parametrize(
    "raw",
    [
        {"path": "owner", "test": "equals", "value": 1},
        {"path": 1, "test": "equals", "value": 1},
        {"path": "/a", "test": "near", "value": 1},
        {"path": "/a", "test": "one_of", "value": "ab"},
        {"path": "/a", "test": "at_most", "value": "100"},
        {"path": "/a", "test": "at_least", "value": True},
        {"path": "/a", "test": "matches", "value": "("},
        {"path": "/a", "test": "matches", "value": "a)|(b"},
        {"path": "/a", "test": "matches", "value": "(?=a)"},
        {"path": "/a", "test": "matches", "value": "a" * 201},
        {"path": "/a", "test": "matches", "value": None},
        {"path": "/a", "test": "equals", "value": "x" * 5000},
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="condition"):
        parse_condition(raw)


@pytest.mark.parametrize("other", ["Owner", "OWNER", "\uff4fwner", "owne\u0052"])
def test_a_name_that_is_there_twice_can_not_be_judged(other: str) -> None:
    condition = Condition("/to/owner", "equals", "acme")
    assert holds(condition, {"to": {"owner": "acme", other: "evil"}}) is None
    assert holds(condition, {"to": {"owner": "acme", "owned": "evil"}}) is True
