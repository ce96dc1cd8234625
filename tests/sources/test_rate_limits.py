"""When a service wants to be asked again, and how long those who wait do so."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate

import pytest
from multidict import CIMultiDict

from executor.sources import rate_limits
from executor.sources.rate_limits import MAX_WAITS, Retries, is_limited, seconds_until_reset


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"Retry-After": "0"}, 0),
        ({"Retry-After-Ms": "250"}, 0.25),
        ({"RateLimit-Reset": "30"}, 30),
        ({"RateLimit": "limit=10, remaining=0, reset=42"}, 42),
        ({"RateLimit": '"default";r=0;t=9'}, 9),
        ({"X-RateLimit-Reset-After": "2.5"}, 2.5),
        ({"Retry-After": "3", "X-RateLimit-Reset": "99"}, 3),
        ({"Retry-After": "soon", "X-RateLimit-Reset": "99"}, 99),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "9" * 40}, None),
        ({"Retry-After": "99999999"}, None),
        ({"Retry-After": "1e3"}, None),
        ({"Retry-After": "Fri, 99 Foo 2026"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds_until_reset(CIMultiDict(headers)) == seconds


@pytest.mark.parametrize("name", ["Retry-After", "X-RateLimit-Reset", "RateLimit-Reset"])
@pytest.mark.parametrize("form", ["date", "seconds", "milliseconds"])
def test_a_point_in_time_is_understood(name: str, form: str) -> None:
    at = time.time() + 3_600
    text = {"date": formatdate(at, usegmt=True), "seconds": f"{at:.0f}", "milliseconds": f"{at * 1000:.0f}"}[form]
    found = seconds_until_reset(CIMultiDict({name: text}))
    assert found is not None
    assert 3_000 < found < 3_602


def test_a_time_that_has_passed_is_now() -> None:
    assert seconds_until_reset(CIMultiDict({"Retry-After": formatdate(0, usegmt=True)})) == 0


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (429, {}, True),
        (503, {"Retry-After": "1"}, True),
        (503, {}, False),
        (403, {"X-RateLimit-Remaining": "0"}, True),
        (403, {"Retry-After": "60"}, True),
        (403, {"X-RateLimit-Remaining": "9"}, False),
        (200, {"Retry-After": "1"}, False),
        (500, {"Retry-After": "1"}, False),
    ],
)
def test_only_answers_that_say_later_are_waited_for(status: int, headers: dict[str, str], expected: bool) -> None:
    assert is_limited(status, CIMultiDict(headers)) == expected


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []

    class Clock:
        @staticmethod
        async def sleep(seconds: float) -> None:
            found.append(seconds)
            await asyncio.sleep(0)

    monkeypatch.setattr(rate_limits, "asyncio", Clock)
    return found


def retries(seconds: float = 120, left: float = 300) -> Retries:
    return Retries(seconds, lambda: left, lambda status, seconds, attempt: None)


async def test_a_thousand_calls_do_not_come_back_together(pauses: list[float]) -> None:
    assert all(await asyncio.gather(*(retries().wait("src", 429, 10.0) for _ in range(1_000))))
    fullest = max(sum(1 for one in pauses if start <= one < start + 1) for start in range(10, 40))
    assert min(pauses) >= 10
    assert fullest < 400
    assert rate_limits._waiting == {}


async def test_tries_and_time_are_bounded(pauses: list[float]) -> None:
    impatient = retries(seconds=1_000, left=1_000)
    while await impatient.wait("src", 429, None):
        pass
    assert len(pauses) == MAX_WAITS
    assert pauses == sorted(pauses)
    pauses.clear()
    short = retries(seconds=10)
    while await short.wait("src", 429, 4.0):
        pass
    assert sum(pauses) <= 10


@pytest.mark.parametrize("impatient", [retries(seconds=5), retries(left=5), retries(seconds=0), retries(left=-1)])
async def test_what_takes_longer_than_there_is_time_is_not_waited_for(pauses: list[float], impatient: Retries) -> None:
    assert not await impatient.wait("src", 429, 6.0)
    assert pauses == []
