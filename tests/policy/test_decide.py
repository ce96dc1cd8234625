from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.errors import InvalidRequest
from executor.model.policy import Action, Condition, Level, MadeFor, Policy
from executor.model.tool import Effect
from executor.policy.decide import STRICTNESS, Subject, decide, parse_action


def policy(position: int, pattern: str, action: Action, *conditions: Condition, **more: Any) -> Policy:
    level: Level = more.pop("level", "workspace")
    return Policy(f"pol_{level}_{position}", level, "ws", position, pattern, action, conditions, **more)


def call(path: str = "shop.orders.create", effect: Effect = "write", **arguments: Any) -> Subject:
    return Subject(path, effect, "src_1", "act_1", arguments)


@pytest.mark.parametrize(("effect", "action"), [("read", "allow"), ("write", "require_approval")])
def test_without_a_policy_the_effect_decides(effect: Effect, action: Action) -> None:
    decision = decide(Subject("shop.orders.create", effect), [])
    assert (decision.action, decision.policy_id) == (action, "")


def test_a_destructive_tool_needs_approval_by_default() -> None:
    assert decide(Subject("shop.orders.delete", "destructive"), []).action == "require_approval"


def test_the_first_policy_that_matches_decides_and_is_named() -> None:
    policies = [
        policy(0, "shop.orders.delete", "deny"),
        policy(1, "shop.**", "allow"),
        policy(2, "shop.orders.*", "require_approval"),
    ]
    assert decide(call("shop.orders.delete", "destructive"), policies).policy_id == "pol_workspace_0"
    assert decide(call(), policies).action == "allow"
    assert decide(call("other.list", "read"), policies).policy_id == ""


def test_a_policy_can_deny_a_read() -> None:
    assert decide(call("shop.orders.list", "read"), [policy(0, "**", "deny")]).action == "deny"


@pytest.mark.parametrize(
    ("more", "holds"),
    [
        ({"actor_id": "act_1"}, True),
        ({"actor_id": "act_2"}, False),
        ({"source_id": "src_1"}, True),
        ({"source_id": "src_2"}, False),
        ({"effect": "write"}, True),
        ({"effect": "read"}, False),
        ({"actor_id": "act_1", "effect": "read"}, False),
    ],
)
def test_a_policy_holds_when_everything_it_names_holds(more: dict[str, str], holds: bool) -> None:
    decision = decide(call(), [policy(0, "shop.**", "allow", **more)])
    assert (decision.action == "allow") is holds


@pytest.mark.parametrize("action", ["deny", "require_approval"])
@pytest.mark.parametrize("arguments", [{}, {"amount": "9"}, {"amount": None}, {"amount": [500]}])
def test_doubt_about_a_condition_never_loosens(action: Action, arguments: dict[str, Any]) -> None:
    small, large = Condition("/amount", "at_most", 100), Condition("/amount", "at_least", 100)
    assert decide(call(**arguments), [policy(0, "**", "allow", small)]).action == "require_approval"
    assert decide(call(effect="read", **arguments), [policy(0, "**", action, large)]).action == action


def test_a_tool_that_is_only_looked_at_has_no_arguments_that_a_condition_could_hold_for() -> None:
    small = Condition("/amount", "at_most", 100)
    assert decide(Subject("a.b", "write"), [policy(0, "**", "allow", small)]).action == "require_approval"


def test_a_workspace_can_only_tighten_what_its_organization_says() -> None:
    policies = [policy(0, "shop.**", "deny", level="organization"), policy(0, "shop.**", "allow")]
    assert decide(call(), policies).policy_id == "pol_organization_0"
    policies = [policy(0, "shop.**", "allow", level="organization"), policy(0, "shop.**", "require_approval")]
    assert decide(call(), policies).policy_id == "pol_workspace_0"
    policies = [policy(0, "shop.**", "require_approval", level="organization"), policy(0, "shop.**", "allow")]
    assert decide(call(), policies).action == "require_approval"


def test_a_list_of_all_pages_is_judged_as_the_list_too() -> None:
    policies = [policy(0, "shop.orders.list", "deny")]
    assert decide(call("shop.orders.list.all", "read"), policies).action == "deny"
    policies = [policy(0, "shop.orders.list.all", "allow"), policy(1, "shop.orders.list", "require_approval")]
    assert decide(call("shop.orders.list.all", "read"), policies).action == "require_approval"
    assert decide(call("shop.orders.list", "read"), [policy(0, "shop.orders.list.all", "deny")]).action == "allow"


ACTIONS: list[Action] = ["allow", "require_approval", "deny"]
POLICIES = st.builds(
    lambda pattern, action, level: policy(0, pattern, action, level=level),
    st.sampled_from(["**", "a.**", "a.b", "a.*", "b.**", "*.b"]),
    st.sampled_from(ACTIONS),
    st.sampled_from(["organization", "workspace", "toolkit"]),
)


@given(st.lists(POLICIES, max_size=8), POLICIES)
def test_a_policy_of_a_lower_level_never_loosens(policies: list[Policy], lower: Policy) -> None:
    higher = [one for one in policies if one.level == "organization"]
    subject = call("a.b", "read")
    decided = decide(subject, higher)
    if decided.policy_id:
        tightened = decide(subject, [*higher, policy(9, lower.pattern, lower.action)])
        assert STRICTNESS[tightened.action] >= STRICTNESS[decided.action]


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="permit"):
        parse_action("permit")


def taken_for_a_read(**more: Any) -> Policy:
    made_for = MadeFor("there", frozenset({"digest"}), basis="read")
    return replace(policy(0, "a.search", "allow"), id="pol_read", made_for=made_for, **more)


def test_what_people_take_for_a_read_is_allowed_only_where_no_policy_decides() -> None:
    search = Subject("a.search", "write", schema_digest="digest", destination="there")
    read = taken_for_a_read()
    assert decide(search, [read]).policy_id == "pol_read"
    actions: list[Action] = ["deny", "require_approval"]
    for action in actions:
        for others in ([policy(0, "a.**", action), read], [read, policy(0, "a.**", action)]):
            assert decide(search, others).action == action
    assert decide(replace(search, schema_digest="other"), [read]).action == "require_approval"
    assert decide(replace(search, destination="elsewhere"), [read]).action == "require_approval"
    assert decide(search, [taken_for_a_read(retired_at=1)]).action == "require_approval"


def test_a_renamed_tool_is_denied_by_either_name_and_allowed_by_the_present_one() -> None:
    renamed = Subject("a.new", "write", own_path="a.old")
    assert decide(renamed, [policy(0, "a.old", "deny"), policy(0, "a.new", "allow")]).action == "deny"
    assert decide(renamed, [policy(0, "a.new", "deny"), policy(0, "a.old", "allow")]).action == "deny"
    assert decide(renamed, [policy(0, "a.old", "allow")]).action == "require_approval"
    assert decide(renamed, [policy(0, "a.new", "allow")]).action == "allow"
    pages = Subject("a.new.all", "read", own_path="a.old.all")
    assert decide(pages, [policy(0, "a.old", "deny")]).action == "deny"


@pytest.mark.parametrize("given", ["allow", "require_approval", "deny"])
def test_a_default_of_the_source_gives_way_to_any_policy(given: Action) -> None:
    default = policy(0, "shop.**", given, level="source", source_id="src_1", effect="write")
    decision = decide(call(), [default])
    assert (decision.action, decision.policy_id) == (given, "") and "source shop" in decision.reason
    for action in STRICTNESS:
        assert decide(call(), [default, policy(0, "shop.**", action)]).action == action
    assert decide(call(effect="destructive"), [default]).action == "require_approval"
    assert decide(replace(call(), source_id="src_2"), [default]).action == "require_approval"


def test_a_tool_that_people_take_for_a_read_goes_by_the_default_for_reads() -> None:
    taken = policy(0, "shop.orders.create", "allow", made_for=MadeFor("", frozenset({"d"}), basis="read"))
    one = replace(call(), schema_digest="d", destination="")
    write = policy(0, "shop.**", "deny", level="source", source_id="src_1", effect="write")
    read = policy(1, "shop.**", "require_approval", level="source", source_id="src_1", effect="read")
    assert decide(one, [taken, write]).action == "allow"
    assert decide(one, [taken, write, read]).action == "require_approval"


def test_the_default_of_one_effect_does_not_let_through_the_parts_of_a_document() -> None:
    allowed = policy(0, "shop.**", "allow", level="source", source_id="src_1", effect="destructive")
    part = replace(call("shop.mutation.pay"), parts=())
    whole = replace(call("shop.graphql.mutate", "destructive"), parts=(part,))
    assert decide(whole, [allowed]).action == "require_approval"
