from __future__ import annotations

import pytest

from executor.errors import InvalidRequest
from executor.model.policy import Action, Policy
from executor.model.tool import Effect
from executor.policy.decide import decide, parse_action


def policy(position: int, pattern: str, action: Action) -> Policy:
    return Policy(f"pol_{position}", "ws", position, pattern, action)


@pytest.mark.parametrize(("effect", "action"), [("read", "allow"), ("write", "require_approval")])
def test_without_a_policy_the_effect_decides(effect: Effect, action: Action) -> None:
    decision = decide("shop.orders.create", effect, [])
    assert (decision.action, decision.policy_id) == (action, "")


def test_a_destructive_tool_needs_approval_by_default() -> None:
    assert decide("shop.orders.delete", "destructive", []).action == "require_approval"


def test_the_first_policy_that_matches_decides_and_is_named() -> None:
    rules = [
        policy(0, "shop.orders.delete", "deny"),
        policy(1, "shop.**", "allow"),
        policy(2, "shop.orders.*", "require_approval"),
    ]
    assert decide("shop.orders.delete", "destructive", rules).policy_id == "pol_0"
    assert decide("shop.orders.create", "write", rules).action == "allow"
    assert decide("other.list", "read", rules).policy_id == ""


def test_a_policy_can_deny_a_read() -> None:
    assert decide("shop.orders.list", "read", [policy(0, "**", "deny")]).action == "deny"


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="permit"):
        parse_action("permit")
