"""What a toolkit has: by its patterns, without what its policies deny, and nothing that administers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.model.policy import Action, Condition, Policy
from executor.model.toolkit import Toolkit
from executor.policy.decide import STRICTNESS, Subject, decide
from executor.policy.toolkit_scope import ToolkitScope, scope_of
from executor.policy.visibility import visibility_of

PATHS = ("a.x", "a.y.z", "b.x", "executor.sources.add", "discover")
PATTERN = st.sampled_from(["**", "a.**", "a.x", "*.x", "b.*", "a.y.z"])


def policy(pattern: str, action: Action, level: str = "toolkit", **more: object) -> Policy:
    return Policy("", level, "", 0, pattern, action, **more)  # type: ignore[arg-type]


def toolkit(*patterns: str, policies: tuple[Policy, ...] = ()) -> Toolkit:
    return Toolkit("tkt", "ws", "kit", "kit", "", patterns, policies)


def test_it_has_what_a_pattern_covers() -> None:
    scope = scope_of(toolkit("a.x", "b.*"))
    assert [path for path in PATHS if not scope.hides(path)] == ["a.x", "b.x", "discover"]


def test_no_pattern_brings_in_what_administers() -> None:
    for patterns in (("**",), ("executor.**",), ("executor.sources.add",)):
        scope = scope_of(toolkit(*patterns))
        assert scope.hides("executor.sources.add") and scope.hides("executor.sources.list")
        assert not scope.hides("executor.artifacts.read") and not scope.hides("describe.tool")


def test_the_tool_for_all_pages_is_another_tool_but_denied_with_the_first() -> None:
    assert scope_of(toolkit("a.x")).hides("a.x.all")
    scope = scope_of(toolkit("a.**", policies=(policy("a.x", "deny"),)))
    assert scope.hides("a.x.all") and not scope.hides("a.y")


def test_a_policy_hides_only_what_it_always_denies() -> None:
    condition = Condition("/n", "equals", 1)
    policies = (policy("a.x", "deny", conditions=(condition,)), policy("a.y.*", "require_approval"))
    scope = scope_of(toolkit("a.**", policies=policies))
    assert not scope.hides("a.x") and not scope.hides("a.y.z")


def test_a_toolkit_that_is_gone_has_nothing() -> None:
    assert all(ToolkitScope().hides(path) for path in PATHS[:4])


@pytest.mark.parametrize(
    ("patterns", "denied", "whole"),
    [(("a.**",), "", True), (("**",), "", True), (("*.**",), "", True), (("a.*.x", "a.x"), "", False),
     (("a.**",), "a.x", False), (("a.**",), "*.x", False), (("a.**",), "b.x", True)],
)  # fmt: skip
def test_it_has_a_source_as_a_whole_only_if_nothing_of_it_is_left_out(
    patterns: tuple[str, ...], denied: str, whole: bool
) -> None:
    policies = (policy(denied, "deny"),) if denied else ()
    assert scope_of(toolkit(*patterns, policies=policies)).has_whole("a") is whole


@given(st.lists(PATTERN, min_size=1), st.lists(st.tuples(PATTERN, st.sampled_from(["deny", "require_approval"]))))
def test_what_is_seen_in_a_toolkit_is_seen_without_it(patterns: list[str], rules: list[tuple[str, Action]]) -> None:
    others = [policy("a.y.**", "deny", "workspace"), policy("b.**", "allow", "organization")]
    own = tuple(policy(*rule) for rule in rules)
    inside = visibility_of(others, toolkit=scope_of(toolkit(*patterns, policies=own)))
    outside = visibility_of(others)
    assert inside is not None and outside is not None
    assert all(inside.hides(path) or not outside.hides(path) for path in PATHS)


EFFECT = st.sampled_from(["", "read", "write"])
RULE = st.tuples(PATTERN, st.sampled_from(["allow", "deny", "require_approval"]), EFFECT)


@given(
    st.lists(st.tuples(RULE, st.sampled_from(["organization", "workspace", "source"]))),
    st.lists(st.tuples(PATTERN, st.sampled_from(["deny", "require_approval"]), EFFECT)),
    st.sampled_from(["read", "write", "destructive"]),
    st.booleans(),
)
def test_a_toolkit_never_loosens_a_decision(
    rules: list[tuple[tuple[str, Action, str], str]],
    own: list[tuple[str, Action, str]],
    effect: str,
    has_parts: bool,
) -> None:
    parts = (Subject("b.x", "write"), Subject("a.x", "read")) if has_parts else ()
    subject = Subject("a.y.z", effect, parts=parts, own_path="b.x")  # type: ignore[arg-type]
    base = [policy(pattern, action, level, effect=only) for (pattern, action, only), level in rules]
    narrowed = [*base, *(policy(pattern, action, effect=only) for pattern, action, only in own)]
    assert STRICTNESS[decide(subject, narrowed).action] >= STRICTNESS[decide(subject, base).action]
