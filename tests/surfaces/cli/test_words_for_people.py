"""Errors of the command line say what the reader can change, in the reader's terms."""

from __future__ import annotations

import pytest

from executor.errors import EgressRefused, InvalidRequest
from executor.network.addresses import parse_origin
from executor.policy.drafts import draft, text
from executor.surfaces.cli.client import Refused
from executor.surfaces.cli.output import with_flags
from executor.surfaces.cli.policy_options import condition, reach


@pytest.mark.parametrize(("code", "says"), [("unauthorized", "unset or replace it"), ("forbidden", "EXECUTOR_TOKEN")])
def test_a_token_of_the_environment_is_named_where_it_is_refused(
    code: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = {"code": code, "detail": "no", "hint": "send a token"}
    monkeypatch.delenv("EXECUTOR_TOKEN", raising=False)
    assert Refused(problem, 403).hint == "send a token"
    monkeypatch.setenv("EXECUTOR_TOKEN", "exa_1")
    assert says in Refused(problem, 403).hint


def test_fields_of_the_api_are_options_here() -> None:
    assert with_flags("pass `unixUser`, `cwd` or `repository`") == "pass --unix-user, --cwd or --repository"


@pytest.mark.parametrize(("when", "why"), [("path~x(", "begins with /"), ("/owner", "is missing")])
def test_a_condition_that_can_not_be_read_says_why(when: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        condition(when)


def test_a_word_is_not_taken_for_a_scheme() -> None:
    with pytest.raises(EgressRefused, match="'nonsense' is not an address"):
        parse_origin("nonsense")


def test_a_policy_about_an_effect_names_its_calls() -> None:
    policy = draft("billing.**", "deny", [], effect="destructive")
    assert text(policy) == "billing.** (destructive calls) → deny"


def test_a_policy_for_coding_agents_is_not_shown_as_one_without_tools() -> None:
    assert reach({"pattern": "agent.bash", "matches": 0}) == "coding agents"
    assert reach({"pattern": "shop.**", "matches": 0}) == "0"
