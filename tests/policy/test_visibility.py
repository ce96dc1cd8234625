from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from executor.model.policy import Action, Condition, Level, Policy
from executor.policy.decide import Subject, decide
from executor.policy.visibility import visibility_of

NEVER = Condition("/a", "equals", "nobody sends this")
ACTIONS: list[Action] = ["allow", "require_approval", "deny"]
LEVELS: list[Level] = ["organization", "workspace", "source"]
POLICIES = st.builds(
    lambda pattern, action, level, conditions, actor: Policy(
        "p", level, "o", 0, pattern, action, conditions, actor_id=actor
    ),
    st.sampled_from(["**", "a.**", "a.b", "a.*", "*.b", "a.b.c"]),
    st.sampled_from(ACTIONS),
    st.sampled_from(LEVELS),
    st.sampled_from([(), (NEVER,)]),
    st.sampled_from(["", "act_1"]),
)
CALLS = [Subject("", "read", actor_id=who, arguments=given) for who in ("act_1", "act_2") for given in ({}, {"a": 1})]
CALLS += [Subject("", "read", actor_id=one.actor_id, arguments={"a": NEVER.value}) for one in CALLS[::2]]


@given(st.lists(POLICIES, max_size=5), st.sampled_from(["a.b", "a.b.all", "a.b.c", "b.b", "x.y"]))
def test_a_tool_is_hidden_exactly_when_every_call_of_it_is_denied(policies: list[Policy], path: str) -> None:
    visibility = visibility_of(policies)
    calls = [Subject(path, one.effect, "", one.actor_id, one.arguments) for one in CALLS]
    always = all(decide(one, policies).action == "deny" for one in calls)
    hidden = visibility is not None and visibility.hides(path)
    assert not hidden or always  # whatever some call may reach is found
    if all(not policy.conditions and not policy.actor_id for policy in policies):
        assert hidden == always


NARROW = st.builds(
    lambda pattern, action, level, conditions, actor, source, effect: Policy(
        "p", level, "o", 0, pattern, action, conditions, actor_id=actor, source_id=source, effect=effect
    ),
    st.sampled_from(["**", "a.**", "a.b", "*.b"]),
    st.sampled_from(ACTIONS),
    st.sampled_from(LEVELS),
    st.sampled_from([(), (NEVER,)]),
    st.sampled_from(["", "act_1", "act_2"]),
    st.sampled_from(["", "src_a", "src_gone"]),
    st.sampled_from(["", "read", "write"]),
)


@given(st.lists(NARROW, max_size=5), st.sampled_from(["a.b", "a.b.all", "b.b"]), st.sampled_from(["read", "write"]))
def test_what_is_hidden_from_an_actor_is_what_is_denied_to_it(policies: list[Policy], path: str, effect: Any) -> None:
    visibility = visibility_of(policies, "act_1", {"src_a": "a", "src_b": "b"})
    values: list[dict[str, Any]] = [{}, {"a": 1}, {"a": NEVER.value}]
    calls = [Subject(path, effect, f"src_{path[0]}", "act_1", one) for one in values]
    always = all(decide(one, policies).action == "deny" for one in calls)
    hidden = visibility is not None and visibility.hides(path, effect)
    assert not hidden or always
    if all(not policy.conditions for policy in policies):
        assert hidden == always
