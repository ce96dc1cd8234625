from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from executor.errors import InvalidRequest
from executor.policy.decide import Subject, applies, decide
from executor.policy.drafts import changes, draft, in_order, is_broader, narrowest, text, with_policy

CALL = Subject("shop.orders.create", "write", "src_1", "act_1", {"owner": "acme", "amount": 5, "deep": {"a": [1]}})


def test_the_narrowest_policy_covers_the_call_and_little_else() -> None:
    policy = narrowest(CALL, ["/owner", "/deep/a/0"], level="workspace", owner_id="ws")
    assert applies(policy, CALL)
    for other in (
        replace(CALL, path="shop.orders.delete"),
        replace(CALL, actor_id="act_2"),
        replace(CALL, source_id="src_2"),
        replace(CALL, effect="destructive"),
        replace(CALL, arguments={"owner": "other", "deep": {"a": [1]}}),
        replace(CALL, arguments={"deep": {"a": [1]}}),
        replace(CALL, arguments=None),
    ):
        assert not applies(policy, other)
    assert (
        text(policy) == 'shop.orders.create when /owner="acme" and /deep/a/0=1 (write calls) of src_1 by act_1 → allow'
    )


def test_only_arguments_that_are_there_can_be_pinned() -> None:
    with pytest.raises(InvalidRequest, match="/nothing"):
        narrowest(CALL, ["/nothing"], level="workspace", owner_id="ws")


@pytest.mark.parametrize(
    ("changed", "broader"),
    [
        ({}, False),
        ({"note": "mine"}, False),
        ({"pattern": "shop.orders.*"}, True),
        ({"actor_id": ""}, True),
        ({"source_id": ""}, True),
        ({"effect": ""}, True),
        ({"level": "organization"}, True),
        ({"action": "deny"}, True),
        ({"conditions": ()}, True),
    ],
)
def test_a_policy_that_covers_more_than_the_draft_is_distinguished(changed: dict[str, Any], broader: bool) -> None:
    policy = narrowest(CALL, ["/owner"], level="workspace", owner_id="ws")
    assert is_broader(replace(policy, **changed), policy) is broader


def test_more_conditions_make_a_policy_narrower() -> None:
    wide = narrowest(CALL, level="workspace", owner_id="ws")
    assert not is_broader(narrowest(CALL, ["/owner"], level="workspace", owner_id="ws"), wide)


def test_a_draft_or_another_order_is_tried_against_past_calls() -> None:
    allow, deny = (replace(draft("shop.**", action), id=action) for action in ("allow", "deny"))
    now = [allow, deny]
    [one] = changes([CALL], now, in_order(now, ["deny", "allow"]))
    assert (one.before.action, one.after.action, one.differs) == ("allow", "deny", True)
    [one] = changes([CALL], now, with_policy(now, draft("shop.orders.*", "deny"), 0))
    assert one.differs
    [one] = changes([CALL], now, with_policy(now, draft("shop.orders.*", "deny"), None))
    assert not one.differs
    assert decide(CALL, in_order(now, ["deny"])).action == "deny"


@pytest.mark.parametrize("ids", [["nobody"], ["allow", "allow"]])
def test_an_order_names_policies_that_there_are_once(ids: list[str]) -> None:
    with pytest.raises(InvalidRequest):
        in_order([replace(draft("a.**", "allow"), id="allow")], ids)


def test_a_draft_that_makes_no_sense_is_refused() -> None:
    for pattern, action, more in (("a..b", "allow", {}), ("a", "perhaps", {}), ("a", "deny", {"effect": "big"})):
        with pytest.raises(InvalidRequest):
            draft(pattern, action, **more)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="20"):
        draft("a", "deny", [{"path": "/a", "test": "equals", "value": 1}] * 21)
