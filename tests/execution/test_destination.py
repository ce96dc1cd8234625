"""An approval holds for the place that was shown: a source that goes elsewhere by then is asked about again."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, cast

import orjson
import pytest

from executor.model.source import Source
from executor.sources.kind import DECIDING, Kind, configured_destination, destination_of
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.catalog import sources
from tests.execution.conftest import ExecutorHarness, value
from tests.sources.mcp.conftest import HOSTILE

CONFIG: dict[str, Any] = {
    "location": "https://a.example/openapi.json",
    "base_url": "https://a.example",
    "given_base_url": "",
    "transport": "http",
    "origins": [],
    "headers": [["X-Key", "1"]],
    "command": ["npx", "server"],
    "environment": [["TOKEN", "1"]],
    "directory": "/srv",
    "options": {},
    "allow_private": False,
    "static": "sec_a",
    "edition": 1,
}
WRITE = 'return await tools.ledger.entries.addEntry({key: "a"})'
ADDED = "tools.executor.sources.add"


class BuiltIn:
    destination = staticmethod(configured_destination)


def where_sent(source: Source) -> str:
    return destination_of(cast("Kind", BuiltIn()), source)


def source(**changes: Any) -> Source:
    return Source("src_1", "ws_1", "openapi", "a", "A", {**CONFIG, **changes})


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("location", "https://b.example/openapi.json"),
        ("base_url", "https://b.example"),
        ("base_url", "http://a.example"),
        ("given_base_url", "https://b.example"),
        ("transport", "sse"),
        ("origins", ["http://10.0.0.1:80"]),
        ("headers", [["X-Key", "2"]]),
        ("headers", [["X-Key", "1"], ["X-Other", "1"]]),
        ("command", ["npx", "other"]),
        ("environment", [["TOKEN", "2"]]),
        ("environment", [["TOKEN", None]]),
        ("directory", "/tmp"),
        ("options", {"env": {"A": "1"}}),
        ("allow_private", True),
        ("static", "sec_b"),
        ("edition", 2),
    ],
)
def test_all_that_says_where_and_how_calls_go_is_part_of_it(name: str, other: Any) -> None:
    assert where_sent(source(**{name: other})) != where_sent(source())


def test_every_part_that_counts_has_a_case_above() -> None:
    assert set(CONFIG) == set(DECIDING)


def test_all_config_of_a_kind_that_does_not_say_decides() -> None:
    """A package's kind may keep its address under any key."""
    other = cast("Kind", object())
    first, second = (Source("src_1", "ws_1", "theirs", "a", "A", {"endpoint": at}) for at in ("https://a", "https://b"))
    assert destination_of(other, first) != destination_of(other, second)


async def test_a_source_whose_kind_is_no_longer_installed_has_a_destination(harness: ExecutorHarness) -> None:
    """Policies about it can still be listed, tried and removed."""
    left = Source("src_1", "ws_1", "theirs", "a", "A", {"endpoint": "https://a"})
    assert await harness.executor.catalog.destination(left) == destination_of(None, left)


def test_another_source_or_kind_at_the_same_place_is_not_the_same() -> None:
    assert where_sent(replace(source(), id="src_2")) != where_sent(source())
    assert where_sent(replace(source(), kind="graphql")) != where_sent(source())


def test_what_reading_again_may_change_is_not_part_of_it() -> None:
    later = source(validators={"etag": "2"}, server={"version": "9"}, auth=[{"name": "key"}])
    renamed = replace(later, name="B", status="failing", document_digest="x", refreshed_at=9, tool_count=5)
    assert where_sent(renamed) == where_sent(source())


async def move_source(harness: ExecutorHarness, namespace: str, **changes: Any) -> None:
    """As if the source had been changed while the approval was open."""
    workspace = harness.executor.tenancy.workspace.id
    found = await harness.executor.catalog.source(workspace, namespace)
    assert found is not None
    other = replace(found, config={**found.config, **changes})
    await harness.executor.database.write(lambda c: sources.replace(c, other))
    harness.executor.catalog._forget(other)


@pytest.mark.parametrize(
    "changes",
    [{"base_url": "http://127.0.0.1:9"}, {"headers": [["X-Key", "other"]]}, {"origins": []}, {"options": {"a": 1}}],
    ids=["base_url", "headers", "origins", "options"],
)
async def test_a_source_that_changed_after_the_approval_is_asked_about_again(
    harness: ExecutorHarness, changes: dict[str, Any]
) -> None:
    outcome = await harness.run(WRITE)
    await move_source(harness, "ledger", **changes)
    await harness.settle(outcome, "approve")
    again = await harness.wait(outcome.execution.id)
    [approval] = again.interactions
    assert again.execution.status == "paused" and approval.id != outcome.interactions[0].id
    assert "changed after the request" in approval.prompt["reason"]
    assert harness.effects() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"command": [sys.executable, HOSTILE, "calls", "other"]},
        {"environment": [["TOKEN", "other"]]},
        {"directory": "/"},
    ],
    ids=["command", "environment", "directory"],
)
async def test_a_command_that_changed_after_the_approval_is_asked_about_again(
    harness: ExecutorHarness, changes: dict[str, Any]
) -> None:
    request = SourceRequest(
        command=(sys.executable, HOSTILE, "calls"), namespace="run", consented=Consent(runs_code=True, by_operator=True)
    )
    await harness.executor.catalog.add_source(harness.executor.tenancy.workspace.id, request)
    outcome = await harness.run("return await tools.run.work({})")
    [approval] = outcome.interactions
    assert approval.prompt["host"] == f"this machine, where the command `{sys.executable}` runs"
    await move_source(harness, "run", **changes)
    await harness.settle(outcome, "approve")
    again = await harness.wait(outcome.execution.id)
    assert again.execution.status == "paused" and "changed" in again.interactions[0].prompt["reason"]
    await harness.settle(again, "approve")
    assert value(await harness.wait(outcome.execution.id)) == "done {}"


@pytest.mark.parametrize(
    ("arguments", "host"),
    [
        ({"url": "http://10.1.2.3:8080/openapi.json"}, "http://10.1.2.3:8080 (a private network)"),
        (
            {
                "url": "https://api.example.com/v1",
                "specUrl": "https://docs.example.com/x",
                "baseUrl": "http://nas:5000",
            },
            "https://api.example.com:443 (also if it is on a private network); "
            "https://docs.example.com:443 (also if it is on a private network); "
            "http://nas:5000 (also if it is on a private network)",
        ),
        (
            {"command": ["npx", "-y", "a b", "; rm -rf ~"]},
            "this machine, which would run: npx -y 'a b' '; rm -rf ~'",
        ),
        ({"url": "python:os"}, "the daemon itself, which would import and run: python:os"),
    ],
)
async def test_adding_a_source_names_what_it_opens(
    harness: ExecutorHarness, arguments: dict[str, Any], host: str
) -> None:
    arguments = {**arguments, "namespace": "fresh"}
    outcome = await harness.run(f"return await {ADDED}({orjson.dumps(arguments).decode()})")
    [approval] = outcome.interactions
    assert approval.prompt["host"] == host and approval.prompt["arguments"] == arguments


async def test_a_template_is_named_by_the_address_it_stands_for(harness: ExecutorHarness) -> None:
    outcome = await harness.run(f"return await {ADDED}({{url: 'github', namespace: 'gh'}})")
    assert outcome.interactions[0].prompt["host"].startswith("https://")
