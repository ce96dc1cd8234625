from __future__ import annotations

import pytest

from executor.errors import RateLimited
from executor.identity.rate_limit import RateLimit, neighbourhood


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_tries_run_out_and_come_back_with_time() -> None:
    clock = Clock()
    attempts = RateLimit(3, 0.5, clock=clock)
    for _ in range(3):
        attempts.take("192.0.2.1")
    with pytest.raises(RateLimited) as refused:
        attempts.check("192.0.2.1")
    assert refused.value.details["seconds"] == 2
    clock.now += 2
    attempts.take("192.0.2.1")
    with pytest.raises(RateLimited):
        attempts.check("192.0.2.1")
    clock.now += 1000
    for _ in range(3):
        attempts.take("192.0.2.1")
    with pytest.raises(RateLimited):
        attempts.check("192.0.2.1")


def test_one_address_does_not_spend_the_tries_of_another() -> None:
    attempts = RateLimit(1, 0.001)
    attempts.take("192.0.2.1")
    attempts.take("192.0.2.2")
    with pytest.raises(RateLimited):
        attempts.check("192.0.2.1")


def test_any_number_of_addresses_takes_bounded_memory() -> None:
    attempts = RateLimit(1, 0.001, most=100)
    for number in range(10_000):
        attempts.spend(f"2001:db8:0:{number:x}::1")
    assert len(attempts) == 100


def test_the_addresses_of_one_network_count_as_one() -> None:
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:1") != neighbourhood("2001:db8:0:1::1")
    assert neighbourhood("::ffff:192.0.2.1") == neighbourhood("192.0.2.1")
    assert neighbourhood("not an address") == "not an address"
