"""scripts/model-cluster: its queues behave like real ones, and it predicts what was measured."""

from __future__ import annotations

import json

import pytest
from cluster_model.__main__ import MEASURED, calibrate, check, read_costs
from cluster_model.queues import Chains, Clock, Lane, Processors


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_writes_that_arrive_during_a_transaction_share_the_next_one(clock: Clock) -> None:
    server, chains, done = Processors(clock, 1), Chains(clock), list[float]()
    lane = Lane(clock, chains, trip=1.0, flush=2.0, prepare=lambda: clock.now, serve=server.use)
    for number in range(5):
        clock.at(number * 0.1, lambda: lane.write(0.5, 0, lambda: done.append(clock.now)))
    clock.run(1_000, 1_000)
    assert done == pytest.approx([4.5, *[10.5] * 4])  # one alone, then four: two halves of a trip, CPU, a trip, a flush


def test_transactions_with_a_workspace_in_common_wait_for_each_other(clock: Clock) -> None:
    chains = Chains(clock)
    assert chains.hold({1, 2}, 0.0, 3.0) == 3.0
    assert chains.hold({3}, 0.0, 3.0) == 3.0
    assert chains.hold({2, 4}, 1.0, 3.0) == 6.0
    assert (chains.waited, chains.held[2]) == (2.0, 6.0)


def test_processors_are_shared_in_the_order_of_requests(clock: Clock) -> None:
    processors = Processors(clock, 2, speed=0.5)
    assert [processors.use(1.0) for _ in range(4)] == [2.0, 2.0, 4.0, 4.0]


def test_the_measured_clusters_are_predicted_within_a_quarter(capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(MEASURED.read_text())
    worst = check(calibrate(read_costs(report), report), report)
    assert worst < 0.25, capsys.readouterr().out
