"""Who gets how much of what is free: weights, priorities and caps, without a database."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.model.fairness import Party, SharedQueue
from executor.model.shares import Waiting, allot, share

HEAVY = Waiting("ws_heavy", "act_a", 8, workspace_weight=3)
LIGHT = Waiting("ws_light", "act_b", 8)


@pytest.mark.parametrize("room", [1, 2, 3, 5, 8])
def test_a_weight_of_three_gets_three_times_as_much_whatever_the_room(room: int) -> None:
    chance, taken, claims = Random(3), Counter[str](), 8_000 // room
    for _ in range(claims):
        taken.update({one.workspace_id: one.count for one in share([HEAVY, LIGHT], room, chance)})
    assert sum(taken.values()) == claims * room
    assert abs(taken["ws_heavy"] / taken["ws_light"] - 3) < 0.35


def test_four_places_are_shared_three_to_one_at_every_claim() -> None:
    for seed in range(50):
        shares = {one.workspace_id: one.count for one in share([HEAVY, LIGHT], 4, Random(seed))}
        assert shares == {"ws_heavy": 3, "ws_light": 1}


def test_actors_of_a_workspace_have_weights_too() -> None:
    waiting = [Waiting("ws", "act_a", 8, weight=3), Waiting("ws", "act_b", 8)]
    assert {one.actor_id: one.count for one in share(waiting, 4, Random(1))} == {"act_a": 3, "act_b": 1}


def test_the_best_priority_of_a_workspace_goes_first_and_takes_nothing_from_other_workspaces() -> None:
    waiting = [
        Waiting("ws", "act_low", 8, rank=2),
        Waiting("ws", "act_normal", 2, rank=1),
        Waiting("ws", "act_high", 1, rank=0),
        Waiting("ws_other", "act_x", 8, rank=2),
    ]
    for seed in range(20):
        taken = {one.actor_id: one.count for one in share(waiting, 8, Random(seed))}
        assert taken == {"act_high": 1, "act_normal": 2, "act_low": 1, "act_x": 4}


def test_what_a_limit_leaves_free_goes_to_the_others() -> None:
    capped = [replace(HEAVY, workspace_free=2), LIGHT]
    assert {one.workspace_id: one.count for one in share(capped, 8, Random(1))} == {"ws_heavy": 2, "ws_light": 6}
    both = [Waiting("ws", "act", 8, rank=0, free=3), Waiting("ws", "act", 8, rank=1, free=3)]
    assert [(one.rank, one.count) for one in share(both, 8, Random(1))] == [(0, 3)]
    assert share([replace(LIGHT, free=0), replace(HEAVY, workspace_free=-2)], 8, Random(1)) == []


numbers = st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 12)), max_size=30)


@given(st.integers(0, 40), numbers, st.integers())
def test_everything_free_is_given_and_no_one_gets_more_than_it_can_use(
    most: int, parties: list[tuple[int, int]], seed: int
) -> None:
    weights, caps = [one[0] for one in parties], [one[1] for one in parties]
    got = allot(most, weights, caps, Random(seed))
    assert sum(got) == min(most, sum(caps))
    assert all(0 <= one <= cap for one, cap in zip(got, caps, strict=True))
    total = sum(weights)
    if all(cap >= most for cap in caps) and parties:
        assert all(abs(one - most * weight / total) < 1 for one, weight in zip(got, weights, strict=True))


def drain(queue: SharedQueue[str], count: int) -> Counter[str]:
    return Counter(str(queue.pop())[0] for _ in range(count))


def test_one_process_shares_its_sandboxes_by_the_same_rules() -> None:
    queue = SharedQueue[str]()
    heavy, light = Party("act_a", "x", "ws_heavy", 1, 3), Party("act_b", "y", "ws_light")
    late = Party("act_c", "z", "ws_light", 0)
    for number in range(40):
        queue.push(heavy, f"h{number}")
        queue.push(light, f"l{number}")
    assert drain(queue, 20) == {"h": 15, "l": 5}
    queue.push(late, "urgent")
    assert "u" in drain(queue, 4)
    queue.discard(heavy, "h39")
    assert len(queue) == 80 - 20 - 4 + 1 - 1
    assert len(queue.clear()) == 56 and not len(queue) and queue.pop() is None


def test_actors_of_one_process_take_turns_by_their_weights() -> None:
    queue = SharedQueue[str]()
    for number in range(30):
        queue.push(Party("act_a", "x", "ws", 1, 1, 2), f"a{number}")
        queue.push(Party("act_b", "y", "ws"), f"b{number}")
    assert drain(queue, 30) == {"a": 20, "b": 10}
