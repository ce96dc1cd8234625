"""A call that lacks a credential waits for a human, and goes on once it has one."""

from __future__ import annotations

import pytest

from executor.connections.new_connection import Offer
from executor.daemon.wiring.executor import Executor
from executor.errors import AlreadySettled, Forbidden, InvalidRequest
from executor.execution.approvals.credentials import provide
from executor.execution.approvals.expiry import expire
from executor.model.ids import now_ms
from executor.settings import Settings
from executor.storage.executions import calls, events, interactions
from tests.support.connection_harness import ConnectionHarness, value
from tests.support.protected_service import ProtectedService

BEARER = "return (await tools.guarded.use.bearer({})).url"
CATCHING = "try { return await tools.guarded.use.bearer({}) } catch (error) { return [error.code, error.message] }"


async def test_it_pauses_names_what_is_needed_and_where_it_goes_and_then_goes_on(harness: ConnectionHarness) -> None:
    paused = await harness.run(BEARER)
    [asked] = paused.interactions
    told = asked.prompt["credential"]
    assert paused.execution.status == "paused" and asked.kind == "credential" and harness.service.calls == []
    assert (told["source"], told["origin"]) == ("guarded", harness.service.url)
    [way] = told["ways"]
    assert (way["name"], way["scheme"]) == ("token", "bearer")
    assert way["inputs"] == [{"name": "token", "label": "token", "secret": True}]
    settled = await harness.give(asked, {"token": "k-given"})
    assert settled.status == "approved" and settled.settled_by == harness.executor.tenancy.operator.id
    assert value(await harness.wait(paused)) == "/bearer"
    assert harness.service.calls[-1]["headers"]["authorization"] == "Bearer k-given"


async def test_the_value_is_nowhere_in_what_the_agent_or_the_events_can_show(harness: ConnectionHarness) -> None:
    paused = await harness.run("return await tools.guarded.use.bearer({})")
    await harness.give(paused.interactions[0], {"token": "canary-7731"})
    done = await harness.wait(paused)
    found = await harness.executor.database.read(lambda c: events.after(c, harness.workspace_id))
    asked = await harness.executor.database.read(lambda c: interactions.page(c, harness.workspace_id))
    journal = await harness.executor.database.read(
        lambda c: calls.of_execution(c, harness.workspace_id, done.execution.id)
    )
    assert "canary-7731" not in f"{done} {found} {asked} {journal}"


async def test_denying_or_letting_it_expire_is_a_typed_error_that_the_code_can_catch(
    harness: ConnectionHarness,
) -> None:
    paused = await harness.run(CATCHING)
    operator = harness.executor.tenancy.operator
    await harness.executor.engine.settle(operator, paused.interactions[0].id, "deny", reason="not today")
    code, message = value(await harness.wait(paused))
    assert code == "credential_required" and "not today" in message
    paused = await harness.run(CATCHING)
    await expire(harness.executor.database, harness.executor.engine.settle_by, now_ms() + 365 * 86_400_000)
    assert value(await harness.wait(paused))[0] == "credential_required"
    assert harness.service.calls == []


async def test_it_can_not_be_approved_only_given_and_only_once(harness: ConnectionHarness) -> None:
    paused = await harness.run(BEARER)
    [asked] = paused.interactions
    with pytest.raises(InvalidRequest, match="asks for a credential"):
        await harness.executor.engine.settle(harness.executor.tenancy.operator, asked.id, "approve")
    await harness.give(asked, {"token": "k-1"})
    with pytest.raises(AlreadySettled):
        await harness.give(asked, {"token": "k-2"})


async def test_an_agent_can_not_give_itself_a_credential(harness: ConnectionHarness) -> None:
    paused = await harness.run(BEARER)
    executor, [asked] = harness.executor, paused.interactions
    offer = Offer(values={"token": "k-forged"}, scope="actor")
    with pytest.raises(Forbidden):
        await provide(executor.engine, executor.connections, executor.tenancy.agent, asked.id, offer)


async def test_one_answer_serves_every_call_that_waits_for_the_same(harness: ConnectionHarness) -> None:
    code = "return (await Promise.all([1, 2, 3].map(() => tools.guarded.use.bearer({})))).length"
    paused, other = await harness.run(code), await harness.run(BEARER)
    assert len(paused.interactions) == 3
    await harness.give(paused.interactions[1], {"token": "k-1"})
    assert value(await harness.wait(paused)) == 3 and value(await harness.wait(other)) == "/bearer"


async def test_given_to_the_actor_alone_it_serves_no_other_actor(harness: ConnectionHarness) -> None:
    theirs = await harness.executor.engine.run(harness.executor.tenancy.operator, BEARER, seconds=120.0)
    mine = await harness.run(BEARER)
    await harness.give(mine.interactions[0], {"token": "k-agents"}, scope="actor")
    assert value(await harness.wait(mine)) == "/bearer"
    again = await harness.executor.engine.outcome(harness.executor.tenancy.operator, theirs.execution.id)
    assert again.execution.status == "paused"


async def test_a_write_is_approved_only_after_it_has_its_credential_and_with_exactly_that(
    harness: ConnectionHarness,
) -> None:
    paused = await harness.run("return (await tools.guarded.use.bearerWrite({body: {a: 1}})).body")
    assert [asked.kind for asked in paused.interactions] == ["credential"]
    await harness.give(paused.interactions[0], {"token": "k-1"})
    paused = await harness.wait(paused)
    [asked] = paused.interactions
    [made] = await harness.executor.connections.of_source((await harness.source()).id)
    assert asked.kind == "approval" and asked.binding.connection == f"{made.id}@{made.revision}"
    assert harness.service.calls == []
    await harness.executor.engine.settle(harness.executor.tenancy.operator, asked.id, "approve")
    assert value(await harness.wait(paused)) == '{"a":1}'


async def test_a_credential_that_changed_after_the_approval_was_asked_is_asked_again(
    harness: ConnectionHarness,
) -> None:
    await harness.connect("token", {"token": "k-old"})
    paused = await harness.run("return (await tools.guarded.use.bearerWrite({body: {}})).url")
    [asked] = paused.interactions
    await harness.connect("token", {"token": "k-new"}, replace=True)
    operator = harness.executor.tenancy.operator
    await harness.executor.engine.settle(operator, asked.id, "approve")
    paused = await harness.wait(paused)
    assert harness.service.calls == [] and paused.execution.status == "paused"
    [again] = paused.interactions
    assert again.binding.connection != asked.binding.connection
    await harness.executor.engine.settle(operator, again.id, "approve")
    assert value(await harness.wait(paused)) == "/bearer"
    assert harness.service.calls[-1]["headers"]["authorization"] == "Bearer k-new"


async def test_operations_that_take_no_credential_need_no_usable_connection(harness: ConnectionHarness) -> None:
    harness.service.accepts = {"k-right"}
    await harness.connect("token", {"token": "k-wrong"})
    assert (await harness.run(BEARER)).execution.status == "failed"  # the service rejects it
    assert value(await harness.run("return (await tools.guarded.use.open({})).url")) == "/open"
    assert "authorization" not in harness.service.calls[-1]["headers"]
    paused = await harness.run(BEARER)
    assert [asked.kind for asked in paused.interactions] == ["credential"]


async def test_a_service_that_asks_only_when_it_is_called_is_asked_about_too(harness: ConnectionHarness) -> None:
    paused = await harness.run("return (await tools.guarded.use.undeclared({})).url")
    [asked] = paused.interactions
    assert asked.kind == "credential" and len(harness.service.calls) == 1
    await harness.give(asked, {"key": "k-late"}, way="header_key")
    assert value(await harness.wait(paused)) == "/undeclared"
    assert len(harness.service.calls) == 2


@pytest.mark.parametrize("language", ["typescript", "python"])
@pytest.mark.parametrize(("tool", "way"), [("bearer", "token"), ("header", "header_key"), ("undeclared", "login")])
async def test_a_wrong_one_is_asked_for_again_and_the_run_goes_on_with_the_right_one(
    harness: ConnectionHarness, language: str, tool: str, way: str
) -> None:
    harness.service.accepts = {"k-right"}
    name = "password" if way == "login" else "token" if way == "token" else "key"
    more = {"username": "ann"} if way == "login" else {}
    code = {"typescript": f"return (await tools.guarded.use.{tool}({{}})).url"}
    code["python"] = f"(await tools.guarded.use.{tool}())['url']"
    paused = await harness.run(code[language], language=language)
    for wrong in ("k-wrong", "k-wronger"):
        [asked] = paused.interactions
        await harness.give(asked, {name: wrong, **more}, way=way)
        paused = await harness.wait(paused)
        [again] = paused.interactions
        assert again.id != asked.id and "401" in again.prompt["reason"]
        [marked] = await harness.executor.connections.of_source((await harness.source()).id)
        assert marked.status == "rejected"
    await harness.give(paused.interactions[0], {name: "k-right", **more}, way=way)
    assert value(await harness.wait(paused)) == f"/{tool}"


async def test_a_write_is_approved_again_after_a_wrong_one_and_sent_once(harness: ConnectionHarness) -> None:
    harness.service.accepts = {"k-right"}
    paused = await harness.run("return (await tools.guarded.use.bearerWrite({body: {a: 1}})).body")
    for token in ("k-wrong", "k-right"):
        [asked] = paused.interactions
        assert asked.kind == "credential"
        await harness.give(asked, {"token": token})
        paused = await harness.wait(paused)
        [asked] = paused.interactions
        assert asked.kind == "approval"
        await harness.executor.engine.settle(harness.executor.tenancy.operator, asked.id, "approve")
        paused = await harness.wait(paused)
    assert value(paused) == '{"a":1}'
    assert [one["headers"]["authorization"] for one in harness.service.calls] == ["Bearer k-wrong", "Bearer k-right"]


async def test_a_source_that_moved_meanwhile_is_not_given_what_was_meant_for_the_old_place(
    harness: ConnectionHarness,
) -> None:
    paused = await harness.run(BEARER)
    harness.service.extra = {"servers": [{"url": "https://elsewhere.example"}]}
    source = await harness.source()
    await harness.executor.catalog.lifecycle.refresh(harness.workspace_id, source.id)
    await harness.give(paused.interactions[0], {"token": "k-1"})
    paused = await harness.wait(paused)
    [again] = paused.interactions
    assert paused.execution.status == "paused" and harness.service.calls == []
    assert again.prompt["credential"]["origin"] == "https://elsewhere.example:443"


async def test_an_interaction_survives_a_restart(settings: Settings, service: ProtectedService) -> None:
    executor = await Executor.open(settings)
    harness = ConnectionHarness(executor, service)
    await harness.add_source()
    paused = await harness.run(BEARER)
    await executor.close()
    executor = await Executor.open(settings)
    harness = ConnectionHarness(executor, service)
    await harness.give(paused.interactions[0], {"token": "k-1"})
    assert value(await harness.wait(paused)) == "/bearer"
    await executor.close()
