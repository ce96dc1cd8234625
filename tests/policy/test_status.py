"""The status of policies: it says what `decide` does with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from executor.model.policy import Policy
from executor.policy.decide import Subject, applies
from executor.policy.drafts import counts, draft
from executor.policy.pattern import matches, parse_pattern
from executor.policy.status import contains, explain, find_shadowed, takes_all, why_not

SMALL = {"path": "/amount", "test": "at_most", "value": 100}
OWNER = {"path": "/owner", "test": "equals", "value": "acme"}
PATTERNS = ("**", "a.**", "a.b", "a.*.c", "a.b.c", "*.b.**", "a.b.**", "*.b", "b.**")
PATHS = ("a", "b", "a.b", "a.c", "a.b.c", "a.x.c", "x.b", "x.b.c", "a.b.c.d", "b.x")


def policy(pattern: str, action: str, id: str, **more: object) -> Policy:
    return replace(draft(pattern, action, **more), id=id)  # type: ignore[arg-type]


def call(**more: object) -> Subject:
    given = {"path": "shop.pay", "effect": "write", "source_id": "src_a", "actor_id": "act_a", "arguments": {}}
    return Subject(**{**given, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("one", PATTERNS)
@pytest.mark.parametrize("other", PATTERNS)
def test_a_pattern_that_contains_another_covers_each_of_its_paths(one: str, other: str) -> None:
    found = contains(parse_pattern(one), parse_pattern(other))
    covered = [path for path in PATHS if matches(other, path)]
    if found:
        assert all(matches(one, path) for path in covered)
    else:
        assert not all(matches(one, path) for path in covered), (one, other)


def verdicts(subject: Subject, policies: Sequence[Policy]) -> list[tuple[str, str]]:
    return [(one.verdict, one.why) for one in explain(subject, policies)]


def test_each_policy_says_why_it_did_not_decide() -> None:
    policies = [
        policy("shop.read", "allow", "path"),
        policy("shop.**", "allow", "actor", actor_id="act_b"),
        policy("shop.**", "allow", "source", source_id="src_b"),
        policy("shop.**", "allow", "effect", effect="read"),
        policy("shop.**", "allow", "bound", conditions=[SMALL]),
        policy("shop.**", "deny", "missing", conditions=[OWNER]),
        policy("shop.pay", "allow", "below"),
    ]
    assert verdicts(call(arguments={"amount": 500}), policies) == [
        ("no", "its pattern does not match the path"),
        ("no", "it is for another actor"),
        ("no", "it is for another source"),
        ("no", "it is for effect read, but this tool's effect is write"),
        ("no", "/amount<=100 does not hold"),
        ("decides", ""),
        ("later", "it applies, but a policy above it comes first"),
    ]
    doubtful = [why for _, why in verdicts(call(arguments={"amount": "5"}), policies)]
    assert doubtful[4] == "/amount<=100 can't be judged: the value there has another type"
    assert verdicts(call(arguments=None), policies)[4] == ("no", "/amount<=100 can't be judged without arguments")


def test_a_stricter_level_outdoes_the_policy_of_another() -> None:
    policies = [policy("shop.**", "deny", "org", level="organization"), policy("shop.**", "allow", "mine")]
    assert [verdict for verdict, _ in verdicts(call(), policies)] == ["decides", "outdone"]


@pytest.mark.parametrize("arguments", [None, {}, {"amount": 5}, {"amount": 500}, {"amount": "x", "owner": "acme"}])
@pytest.mark.parametrize("action", ["allow", "require_approval", "deny"])
def test_what_is_said_of_a_policy_is_what_happens(arguments: dict[str, object] | None, action: str) -> None:
    for conditions in ([], [SMALL], [OWNER], [SMALL, OWNER]):
        for effect in ("", "read", "write"):
            one = policy("shop.*", action, "one", conditions=conditions, effect=effect)
            subject = call(arguments=arguments)
            assert applies(one, subject) == (why_not(one, subject) == "")


def test_a_policy_below_one_that_takes_all_its_calls_can_never_decide() -> None:
    policies = [
        policy("shop.**", "deny", "wide", effect="write"),
        policy("shop.pay", "allow", "dead", effect="write", conditions=[SMALL]),
        policy("shop.pay", "allow", "alive"),
        policy("shop.**", "deny", "other level", effect="write", level="organization"),
    ]
    assert find_shadowed(policies) == {"dead": "wide"}


def test_an_allow_in_doubt_leaves_room_for_a_stricter_policy_below_it() -> None:
    allow, deny = policy("shop.**", "allow", "allow", conditions=[SMALL]), policy("shop.pay", "deny", "deny")
    same = policy("shop.pay", "deny", "same", conditions=[SMALL])
    assert not takes_all(allow, deny) and not takes_all(allow, same)
    assert takes_all(allow, policy("shop.pay", "allow", "narrower", conditions=[SMALL, OWNER]))
    assert takes_all(policy("shop.**", "deny", "deny", conditions=[SMALL]), same)


def test_policies_are_counted_as_each_would_be_alone() -> None:
    heads = [(path, "read" if path.endswith("c") else "write", f"src_{path[0]}") for path in PATHS]
    policies = [policy(pattern, "deny", pattern) for pattern in PATTERNS]
    policies += [policy("**", "deny", "reads", effect="read"), policy("a.**", "deny", "source", source_id="src_b")]
    found = counts(policies, heads)
    for pattern in PATTERNS:
        assert found[pattern] == sum(matches(pattern, path) for path in PATHS), pattern
    assert found["reads"] == sum(path.endswith("c") for path in PATHS)
    assert found["source"] == 0


def possible(subject: Subject, *policies: Policy) -> list[str]:
    return [one.policy.id for one in explain(subject, policies) if one.possible]


def test_every_policy_that_could_decide_another_call_of_the_tool_is_possible() -> None:
    """With other arguments or by another actor; down to the first policy that takes every call, at each level."""
    policies = (
        policy("shop.*", "deny", "everybody", level="organization", actor_id="act_b"),
        policy("shop.pay", "allow", "small", conditions=[SMALL]),
        policy("shop.**", "allow", "other actor", actor_id="act_b"),
        policy("shop.**", "deny", "other effect", effect="destructive"),
        policy("shop.**", "deny", "other source", source_id="src_b"),
        policy("web.**", "deny", "other tool"),
        policy("shop.**", "require_approval", "all"),
        policy("shop.pay", "allow", "never reached"),
    )
    assert possible(call(arguments=None), *policies) == ["everybody", "small", "other actor", "all"]
    assert possible(call(arguments={"amount": 5000}), *policies) == ["everybody", "small", "other actor", "all"]
    assert possible(call(path="shop.other"), *policies) == ["everybody", "other actor", "all"]
    retired = replace(policy("shop.**", "allow", "gone"), retired_at=1)
    assert possible(call(), retired) == []
