"""Which credential a call gets, and where it goes."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from executor.connections.new_connection import Offer
from executor.errors import Conflict, InvalidRequest
from executor.network.credentials import command_origin
from tests.support.connection_harness import ConnectionHarness, value


@pytest.mark.parametrize(
    ("tool", "way", "values", "at", "expected"),
    [
        ("header", "header_key", {"key": "k-header"}, ("headers", "x-api-key"), "k-header"),
        ("query", "query_key", {"key": "k query&=/"}, ("query", "api_key"), "k query&=/"),
        ("cookie", "cookie_key", {"key": "k-cookie"}, ("headers", "cookie"), "session=k-cookie"),
        ("bearer", "token", {"token": "k-bearer"}, ("headers", "authorization"), "Bearer k-bearer"),
        (
            "basic",
            "login",
            {"username": "ann", "password": "p:w"},
            ("headers", "authorization"),
            "Basic " + base64.b64encode(b"ann:p:w").decode(),
        ),
    ],
)
async def test_a_credential_is_sent_where_the_document_says(
    harness: ConnectionHarness, tool: str, way: str, values: dict[str, str], at: tuple[str, str], expected: str
) -> None:
    await harness.connect(way, values)
    value(await harness.run(f"return await tools.guarded.use.{tool}({{}})"))
    assert harness.service.calls[-1][at[0]][at[1]] == expected


async def test_several_keys_at_once_are_asked_for_and_sent_together(harness: ConnectionHarness) -> None:
    paused = await harness.run("return await tools.guarded.use.both({})")
    [asked] = paused.interactions
    inputs = [one["name"] for one in asked.prompt["credential"]["ways"][0]["inputs"]]
    assert inputs == ["header_key", "second"]
    await harness.give(asked, {"header_key": "k-one", "second": "k-two"})
    value(await harness.wait(paused))
    sent = harness.service.calls[-1]["headers"]
    assert (sent["x-api-key"], sent["x-app-id"]) == ("k-one", "k-two")


async def test_the_actors_own_connection_comes_before_the_workspaces(harness: ConnectionHarness) -> None:
    await harness.connect("token", {"token": "k-workspace"})
    value(await harness.run("return await tools.guarded.use.bearer({})"))
    assert harness.service.calls[-1]["headers"]["authorization"] == "Bearer k-workspace"
    agent = harness.executor.tenancy.agent
    offer = Offer(values={"token": "k-own"}, way="token", scope="actor")
    await harness.executor.connections.add(await harness.source(), offer, by=agent)
    value(await harness.run("return await tools.guarded.use.bearer({})"))
    assert harness.service.calls[-1]["headers"]["authorization"] == "Bearer k-own"


async def test_another_actors_connection_is_not_used(harness: ConnectionHarness) -> None:
    await harness.connect("token", {"token": "k-operators-own"}, scope="actor")
    paused = await harness.run("return await tools.guarded.use.bearer({})")
    assert paused.execution.status == "paused" and harness.service.calls == []


async def test_a_tool_that_needs_nothing_is_sent_without_waiting(harness: ConnectionHarness) -> None:
    value(await harness.run("return await tools.guarded.use.open({})"))


async def test_a_secret_that_is_there_already_can_be_used_and_rotating_it_changes_what_is_sent(
    harness: ConnectionHarness,
) -> None:
    secrets, by = harness.executor.secrets, harness.executor.tenancy.operator
    await secrets.set(harness.workspace_id, "mail", "k-first", by=by)
    await harness.connect("token", {}, secrets={"token": "mail"})
    value(await harness.run("return await tools.guarded.use.bearer({})"))
    with pytest.raises(Conflict, match="used by 1 connection"):
        await secrets.remove(harness.workspace_id, "mail", by=by)
    await secrets.rotate(harness.workspace_id, "mail", "k-second", by=by)
    value(await harness.run("return await tools.guarded.use.bearer({})"))
    sent = [one["headers"]["authorization"] for one in harness.service.calls]
    assert sent == ["Bearer k-first", "Bearer k-second"]


async def test_a_credential_is_refused_that_lacks_an_input_or_breaks_a_header(harness: ConnectionHarness) -> None:
    for values in ({}, {"username": "ann"}, {"username": "a", "password": "b", "more": "c"}):
        with pytest.raises(InvalidRequest):
            await harness.connect("login", values)
    with pytest.raises(InvalidRequest, match="can't be sent"):
        await harness.connect("token", {"token": "abc\r\nX-Evil: 1"})
    with pytest.raises(InvalidRequest):
        await harness.connect("", {"v": "x"}, placements=({"in": "header", "name": "Host", "template": "{v}"},))


async def test_a_name_is_replaced_only_when_that_was_said(harness: ConnectionHarness) -> None:
    first = await harness.connect("token", {"token": "k-1"})
    with pytest.raises(Conflict):
        await harness.connect("token", {"token": "k-2"})
    second = await harness.connect("token", {"token": "k-2"}, replace=True)
    [kept] = await harness.executor.connections.of_source(first.source_id)
    assert second.id == first.id == kept.id and kept.revision == first.revision + 1


async def test_placed_by_hand_it_goes_with_every_call(harness: ConnectionHarness) -> None:
    placements: Any = ({"in": "header", "name": "X-Api-Key", "template": "Key {key}"},)
    await harness.connect("", {"key": "k-hand"}, placements=placements)
    value(await harness.run("return await tools.guarded.use.header({})"))
    assert harness.service.calls[-1]["headers"]["x-api-key"] == "Key k-hand"


async def test_removing_a_connection_takes_its_values_with_it(harness: ConnectionHarness) -> None:
    made = await harness.connect("token", {"token": "k-1"})
    await harness.executor.connections.remove(harness.executor.tenancy.operator, made.id)
    secrets = harness.executor.secrets
    assert await harness.executor.connections.of_source(made.source_id) == []
    with pytest.raises(Exception, match="was removed"):
        await secrets.value(harness.workspace_id, made.inputs["token"])


async def test_a_service_that_refuses_the_credential_is_not_asked_again_and_the_next_call_asks_a_human(
    harness: ConnectionHarness,
) -> None:
    harness.service.accepts = {"k-good"}
    made = await harness.connect("token", {"token": "k-bad"})
    failed = await harness.run("return await tools.guarded.use.bearer({})")
    assert failed.execution.failure is not None and len(harness.service.calls) == 1
    assert "a person can replace it" in failed.execution.failure.hint, failed.execution.failure
    [marked] = await harness.executor.connections.of_source(made.source_id)
    assert marked.status == "rejected" and "401" in marked.error
    paused = await harness.run("return (await tools.guarded.use.bearer({})).url")
    [asked] = paused.interactions
    assert asked.kind == "credential" and len(harness.service.calls) == 1
    await harness.give(asked, {"token": "k-good"})
    assert value(await harness.wait(paused)) == "/bearer"


def test_a_command_is_pinned_by_its_whole_line() -> None:
    assert command_origin(["a", "b"]) != command_origin(["a", "c"])
