"""Policies, approvals and the record on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from executor.errors import InvalidRequest
from executor.surfaces.cli.policy_options import condition
from tests.surfaces.api.daemon_server import running_upstream
from tests.surfaces.cli.conftest import Cli


@pytest.mark.parametrize(
    ("written", "test", "value"),
    [
        ("/owner=acme", "equals", "acme"),
        ("/n=5", "equals", 5),
        ('/n="5"', "equals", "5"),
        ("/on=true", "equals", True),
        ("/a/b~1c<=100", "at_most", 100),
        ("/amount >= 1.5", "at_least", 1.5),
        ("/ref~refs/(main|dev)=x", "matches", "refs/(main|dev)=x"),
        ("/state in open, 5", "one_of", ["open", 5]),
        ('/state in ["a,b"]', "one_of", ["a,b"]),
        ("/text=a=b<=c", "equals", "a=b<=c"),
    ],
)
def test_a_condition_is_read_as_it_is_written(written: str, test: str, value: Any) -> None:
    found = condition(written)
    assert (found["test"], found["value"]) == (test, value)
    assert found["path"] == written[: len(found["path"])]


@pytest.mark.parametrize("written", ["owner=acme", "/owner", "/owner!acme", "", "/a b=c"])
def test_a_condition_that_is_not_understood_is_refused(written: str) -> None:
    with pytest.raises(InvalidRequest):
        condition(written)


@pytest.fixture(scope="module")
def shop(shared: Cli) -> Iterator[Cli]:
    with running_upstream() as (address, _):
        assert shared("sources", "add", f"{address}/openapi.json", "--namespace", "trusted", "--yes").code == 0
        yield shared
        shared("sources", "remove", "trusted")


CODE = 'return (await tools.trusted.things.createThing({name: "lamp"})).name'


def test_policies_are_added_tried_changed_moved_and_removed(shop: Cli) -> None:
    added = shop("policies", "add", "trusted.things.*", "allow", "--when", "/name=rug", "--effect", "write", "--json")
    assert added.code == 0, added.err
    policy = added.json["id"]
    told = shop("policies", "add", "trusted.**", "deny", "--note", "not yet")
    assert "matches 2 tools" in told.err
    other = told.out.split()[1].rstrip(":")
    listed = shop("policies", "list").out
    assert 'trusted.things.* when /name="rug" (write calls) → allow' in listed
    tested = shop("policies", "test", "trusted.things.createThing", "--arguments", '{"name": "rug"}')
    assert tested.out.startswith("allow") and policy in tested.out
    assert shop("policies", "move", other, "0").code == 0
    assert shop("policies", "test", "trusted.things.createThing").out.startswith("deny")
    changed = shop("policies", "change", other, "--action", "require_approval", "--when", "/name=lamp", "--json").json
    assert (changed["action"], changed["note"]) == ("require_approval", "not yet")
    assert shop("policies", "change", other, "--unconditional", "--json").json["conditions"] == []
    assert shop("call", CODE, "--no-open").code == 3
    simulated = shop("policies", "simulate", "trusted.**", "deny", "--position", "0", "--json")
    assert simulated.json["changed"][0]["path"] == "trusted.things.createThing"
    assert "would be decided differently" in shop("policies", "simulate", "--order", f"{policy},{other}").err
    for one in (policy, other):
        assert shop("policies", "remove", one).code == 0
    assert shop("policies", "add", "a", "deny", "--when", "x").code == 2


def test_always_shows_the_policy_and_is_not_made_without_a_yes(shop: Cli) -> None:
    view = shop("call", CODE, "--json", "--no-open").json
    asked = view["interactions"][0]["id"]
    refused = shop("approvals", "approve", asked, "--for", "always", stdin="y\n")
    assert refused.code == 2
    assert "trusted.things.createThing (write calls) of trusted by" in refused.err
    assert shop("approvals", "show", asked, "--json").json["status"] == "pending"
    assert shop("approvals", "approve", asked, "--pin", "/name").code == 2
    done = shop("approvals", "approve", asked, "--for", "always", "--pin", "/name", "--yes", "--json")
    assert done.json["scope"] == "always", done.err
    assert shop("call", CODE).out.strip() == '"lamp"'
    [policy] = shop("policies", "list", "--json").json["items"]
    assert policy["conditions"] == [{"path": "/name", "test": "equals", "value": "lamp"}]
    assert shop("policies", "remove", policy["id"]).code == 0
    assert "operator_token" in shop("approvals", "show", asked).out


def test_executions_are_found_by_what_is_remembered_of_them(shop: Cli) -> None:
    code = "return (await tools.trusted.things.listThings({})).length // needle"
    made = shop("call", code, "--json").json["executionId"]
    filters = ("--status", "completed", "--status", "failed", "--language", "typescript", "--runtime", "typescript")
    filters += ("--actor", "operator", "--tool", "trusted.things", "--text", "needle", "--since", "1h")
    page = shop("executions", "list", *filters, "--json").json
    assert [(one["executionId"], one["calls"], one["through"]) for one in page["items"]] == [(made, 1, "cli")]
    assert made in shop("executions", "list", *filters).out
    assert shop("executions", "list", *filters, "--until", "2000-01-01").err.strip() == "no executions"
    assert shop("executions", "list", "--since", "soon").code == 2
    assert shop("executions", "list", "--actor", "nobody").code == 2
    call = shop("executions", "show", made, "--call", "1", "--json").json
    assert (call["path"], call["arguments"]) == ("trusted.things.listThings", {})
    assert "arguments\n  {}" in shop("executions", "show", made, "--call", "1").out
    assert shop("executions", "show", made, "--call", "9").code == 1


def test_the_record_is_listed_checked_and_exported(shop: Cli) -> None:
    assert shop("call", "return 1").code == 0
    listed = shop("audit", "list", "--type", "execution.*", "--actor", "operator", "--since", "1d", "--limit", "5")
    assert "execution.completed" in listed.out and "operator_token" in listed.out
    assert shop("audit", "list", "--since", "2000-01-01", "--json").json["items"]
    assert shop("audit", "list", "--until", "2000-01-01", "--json").json["items"] == []
    page = shop("audit", "list", "--limit", "1", "--json").json
    assert shop("audit", "list", "--before", str(page["next"]), "--limit", "1", "--json").json["next"] < page["next"]
    whole = shop("audit", "verify")
    assert whole.code == 0 and whole.out.startswith("intact: ")
    head = whole.out.split()[-1]
    assert shop("audit", "verify", "--head", head).code == 0
    forged = head.partition(":")[0] + ":" + "0" * 64
    broken = shop("audit", "verify", "--head", forged)
    assert broken.code == 1 and broken.out.startswith("broken")
    lines = shop("audit", "export").out.splitlines()
    events = [json.loads(line) for line in lines]
    assert events[0]["id"] == 1 and len(events) > 5
    assert json.loads(shop("audit", "export", "--after", str(events[-1]["id"])).out)["type"] == "audit.exported"
    assert shop("audit", "list", "--since", "soon").code == 2


def test_approval_defaults_of_a_source_are_shown_set_and_unset(shop: Cli) -> None:
    assert "write        require_approval  (built-in default)" in shop("sources", "defaults", "trusted").out
    assert "write        allow\n" in shop("sources", "defaults", "trusted", "--write", "allow").out
    told = shop("sources", "defaults", "trusted", "--destructive", "deny", "--json").json
    assert (told["read"], told["write"], told["destructive"]) == (None, "allow", "deny")
    assert shop("call", CODE).out.strip() == '"lamp"'
    shop("sources", "defaults", "trusted", "--write", "unset", "--destructive", "unset")
    assert shop("call", CODE, "--json").json["status"] == "paused"
    refused = shop("sources", "add", "https://example.invalid", "--default", "write=auto", "--yes")
    assert refused.code == 2 and "EFFECT=ACTION" in refused.err
