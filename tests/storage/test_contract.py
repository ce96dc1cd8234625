"""What every repository promises, whatever the database behind it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.errors import Fenced
from executor.model.execution import Call, Execution, ExecutionFilter, Failure, Limits
from executor.model.ids import new_id, now_ms
from executor.model.interaction import Binding, Interaction
from executor.model.policy import Condition, Policy
from executor.model.sessions.session import Message, MessageKind
from executor.storage.catalog import policies
from executor.storage.database import Database
from executor.storage.executions import calls, events, execution_search, executions, interactions
from executor.storage.feed import Feed
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.sessions import messages
from executor.storage.tables.core import metadata, organizations, workspaces
from executor.storage.tables.sessions import agent_sessions
from executor.storage.upserts import insert_missing


def an_execution(local: Tenancy, **changes: object) -> Execution:
    at = now_ms()
    execution = Execution(
        new_id("exec"), local.workspace.id, local.agent.id, "typescript", "return 1", "running", b"s" * 16, at, Limits()
    )
    return replace(execution, created_at=at, updated_at=at, **changes)  # type: ignore[arg-type]


def a_call(execution: Execution, seq: int, **changes: object) -> Call:
    call = Call(execution.id, execution.workspace_id, seq, "tool", "shop.orders.list", '{"a":1}', "digest", "started")
    return replace(call, created_at=now_ms(), **changes)  # type: ignore[arg-type]


def new_interaction(execution: Execution, seq: int, **changes: object) -> Interaction:
    binding = Binding(execution.actor_id, execution.id, seq, "shop.orders.create", "s", "a", "o", 1)
    interaction = Interaction(
        new_id("int"), execution.workspace_id, execution.id, seq, "approval", "pending", binding, {"tool": "x"}
    )
    return replace(interaction, **{"created_at": now_ms(), "expires_at": now_ms() + 60_000, **changes})  # type: ignore[arg-type]


async def test_the_first_start_provisions_and_the_second_finds_the_same(database: Database) -> None:
    first = await database.write(tenancy.provision)
    second = await database.write(tenancy.provision)
    assert first == second
    assert first.operator.may_decide
    assert not first.agent.may_decide


async def test_what_is_missing_is_added_once(database: Database) -> None:
    row = {"id": "org_x", "name": "x", "created_at": 1}
    added = [await database.write(lambda c: insert_missing(c, organizations, row)) for _ in range(2)]
    assert added == [True, False]


async def test_every_table_below_a_workspace_carries_its_workspace() -> None:
    above = {"accounts", "organizations", "members", "workspaces", "invitations", "sign_ins", "data_keys", "policies"}
    above |= {"workers", "guards", "object_prefixes"}
    for table in metadata.tables.values():
        if table.name not in above:
            assert "workspace_id" in table.c, table.name


async def test_an_execution_comes_back_as_it_was_stored(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    await database.write(lambda c: executions.insert(c, execution))
    assert await database.read(lambda c: executions.get(c, local.workspace.id, execution.id)) == execution


async def test_another_workspaces_id_answers_as_if_it_did_not_exist(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    await database.write(lambda c: executions.insert(c, execution))
    assert await database.read(lambda c: executions.get(c, "ws_other", execution.id)) is None
    assert await database.read(lambda c: calls.of_execution(c, "ws_other", execution.id)) == []


async def test_an_owner_that_lost_its_epoch_cannot_write(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    await database.write(lambda c: executions.insert(c, execution))
    claimed = await database.write(lambda c: executions.claim(c, execution.id))
    assert claimed is not None
    assert claimed.epoch == 1
    with pytest.raises(Fenced):
        await database.write(lambda c: executions.fence(c, execution.id, 0))
    await database.write(lambda c: executions.fence(c, execution.id, 1))


async def test_a_cancelled_execution_fences_its_owner_off(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    await database.write(lambda c: executions.insert(c, execution))
    assert await database.write(lambda c: executions.cancel(c, execution.id, Failure("cancelled", "by me")))
    assert not await database.write(lambda c: executions.cancel(c, execution.id, Failure("cancelled", "again")))
    with pytest.raises(Fenced):
        await database.write(lambda c: executions.fence(c, execution.id, 0))


async def test_only_queued_or_running_executions_can_be_claimed(database: Database, local: Tenancy) -> None:
    parked = an_execution(local, status="paused")
    await database.write(lambda c: executions.insert(c, parked))
    assert await database.write(lambda c: executions.claim(c, parked.id)) is None
    claimed = await database.write(lambda c: executions.claim(c, parked.id, only="paused"))
    assert claimed is not None
    assert claimed == await database.read(lambda c: executions.get(c, local.workspace.id, parked.id))
    assert claimed.status == "running"
    assert await database.write(lambda c: executions.claim(c, parked.id, only="paused")) is None


async def test_executions_are_listed_newest_first_by_pages(database: Database, local: Tenancy) -> None:
    made = [replace(an_execution(local), id=f"exec_{n:04d}") for n in range(5)]
    for execution in made:
        await database.write(lambda c, e=execution: executions.insert(c, e))  # type: ignore[misc]
    first = await database.read(lambda c: execution_search.page(c, local.workspace.id, ExecutionFilter(), limit=2))
    assert [e.id for e in first] == ["exec_0004", "exec_0003"]
    rest = await database.read(
        lambda c: execution_search.page(c, local.workspace.id, ExecutionFilter(), before="exec_0003")
    )
    assert [e.id for e in rest] == ["exec_0002", "exec_0001", "exec_0000"]
    assert await database.read(lambda c: executions.counts(c, local.workspace.id)) == {"running": 5}


async def test_a_call_is_journalled_and_then_answered(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    call = a_call(execution, 1)
    answered = replace(call, state="succeeded", result="[1]", done_seq=1, done_ms=5)

    def job(c: Connection) -> None:
        executions.insert(c, execution)
        calls.insert(c, [call])
        calls.answer(c, answered)

    await database.write(job)
    assert await database.read(lambda c: calls.of_execution(c, local.workspace.id, execution.id)) == [answered]


async def test_closing_abandons_what_was_not_sent_and_fails_writes_without_an_answer(
    database: Database, local: Tenancy
) -> None:
    execution = an_execution(local)
    journalled = [
        a_call(execution, 1, state="proposed"),
        a_call(execution, 2, effect="read"),
        a_call(execution, 3, effect="write"),
        a_call(execution, 4, kind="timer"),
        a_call(execution, 5, effect="write", state="succeeded", result="1", done_seq=1, done_ms=1),
    ]

    def job(c: Connection) -> list[tuple[int, str]]:
        executions.insert(c, execution)
        calls.insert(c, journalled)
        return calls.close(c, execution.id, {"code": "unknown_outcome"})

    assert await database.write(job) == [(3, "shop.orders.list")]
    found = await database.read(lambda c: calls.of_execution(c, local.workspace.id, execution.id))
    assert [call.state for call in found] == ["abandoned", "abandoned", "failed", "abandoned", "succeeded"]
    assert found[2].failure == {"code": "unknown_outcome"}


async def test_two_answers_cannot_have_the_same_place(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)

    def job(c: Connection) -> None:
        executions.insert(c, execution)
        calls.insert(c, [a_call(execution, 1, done_seq=1), a_call(execution, 2, done_seq=1)])

    with pytest.raises(sa.exc.IntegrityError):
        await database.write(job)


async def test_an_interaction_is_settled_once_and_used_once(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    interaction = new_interaction(execution, 1)
    await database.write(lambda c: executions.insert(c, execution))
    await database.write(lambda c: interactions.insert(c, interaction))

    def settle(c: Connection) -> bool:
        return interactions.settle(c, replace(interaction, status="approved", settled_by="act_1", reason="fine"))

    assert [await database.write(settle), await database.write(settle)] == [True, False]
    await database.write(lambda c: interactions.use(c, interaction.id))
    with pytest.raises(Fenced, match="was used before"):
        await database.write(lambda c: interactions.use(c, interaction.id))
    found = await database.read(lambda c: interactions.get(c, local.workspace.id, interaction.id))
    assert found is not None
    assert (found.status, found.settled_by, found.binding) == ("approved", "act_1", interaction.binding)


async def test_pending_interactions_past_their_time_are_found(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    late, early = (
        new_interaction(execution, 1, expires_at=10),
        new_interaction(execution, 2, expires_at=now_ms() + 9999),
    )
    await database.write(lambda c: executions.insert(c, execution))
    for interaction in (late, early):
        await database.write(lambda c, q=interaction: interactions.insert(c, q))  # type: ignore[misc]
    due = await database.read(lambda c: interactions.list_expired(c, now_ms()))
    assert [found.id for found in due] == [late.id]
    assert await database.write(lambda c: sorted(interactions.cancel_pending(c, execution.id))) == sorted(
        [late.id, early.id]
    )


async def test_policies_keep_their_order_and_raise_the_revision(database: Database, local: Tenancy) -> None:
    ws, by = local.workspace.id, local.operator
    a, b = (Policy("", "workspace", ws, 0, pattern, "deny") for pattern in ("a.**", "b.**"))
    before = await database.read(lambda c: policies.revision(c, ws))
    last = await database.write(lambda c: policies.add(c, ws, a, by=by))
    first = await database.write(lambda c: policies.add(c, ws, b, 0, by=by))
    assert [p.id for p in await database.read(lambda c: policies.listing(c, ws))] == [first.id, last.id]
    await database.write(lambda c: policies.move(c, ws, first, 1, by=by))
    moved = await database.read(lambda c: policies.listing(c, ws))
    assert [(p.id, p.position) for p in moved] == [(last.id, 0), (first.id, 1)]
    changed = Condition("/a", "one_of", ["x", 1])
    await database.write(lambda c: policies.change(c, ws, replace(moved[0], conditions=(changed,)), by=by))
    await database.write(lambda c: policies.remove(c, ws, moved[1], by=by))
    remaining = await database.read(lambda c: policies.listing(c, ws))
    assert [(p.id, p.position, p.conditions) for p in remaining] == [(last.id, 0, (changed,))]
    assert await database.read(lambda c: policies.revision(c, ws)) == before + 5


async def test_a_policy_of_the_organization_holds_in_each_of_its_workspaces(database: Database, local: Tenancy) -> None:
    organization, by = local.organization.id, local.operator
    another = {"id": "ws_2", "organization_id": organization, "name": "two", "created_at": 1}
    await database.write(lambda c: c.execute(sa.insert(workspaces), another) and None)
    policy = Policy("", "organization", organization, 0, "a.**", "deny")
    added = await database.write(lambda c: policies.add(c, local.workspace.id, policy, by=by))
    assert await database.read(lambda c: policies.in_force(c, "ws_2")) == [added]
    assert await database.read(lambda c: policies.revision(c, "ws_2")) == 1
    [told] = await database.read(lambda c: events.after(c, "ws_2"))
    assert (told.type, told.actor_id) == ("policy.added", by.id)


async def test_a_follower_gets_history_and_then_news_without_gap_or_repeat(database: Database, local: Tenancy) -> None:
    feed, ws = Feed(database), local.workspace.id
    for n in range(3):
        await database.write(lambda c, n=n: events.append(c, ws, "test", {"n": n}, "exec_1"))  # type: ignore[misc]
    seen: list[int] = []

    async def follow() -> None:
        async for batch in feed.follow(ws, execution_id="exec_1", after=0):
            seen.extend(event.data["n"] for event in batch.events)
            if len(seen) == 6:
                return

    follower = asyncio.create_task(follow())
    await database.write(lambda c: events.append(c, ws, "test", {"n": 99}, "exec_other"))
    for n in range(3, 6):
        await database.write(lambda c, n=n: events.append(c, ws, "test", {"n": n}, "exec_1"))  # type: ignore[misc]
    await asyncio.wait_for(follower, 120)
    assert seen == [0, 1, 2, 3, 4, 5]


async def test_a_listener_that_raises_stops_no_other_one_and_no_writer(
    database: Database, local: Tenancy, caplog: pytest.LogCaptureFixture
) -> None:
    feed, heard, forgotten = Feed(database), list[str](), list[str]()

    def fail(*_: object) -> None:
        raise ValueError("broken")

    feed.listen(fail, lambda: forgotten.append("it may know something old"))
    feed.listen(fail, fail)
    feed.listen(lambda announcement: heard.append(announcement.type))
    writing = database.write(lambda c: events.append(c, local.workspace.id, "test", {}))
    await asyncio.wait_for(writing, 120)
    feed.forget()
    assert heard == ["test"]
    assert len(forgotten) == 2
    assert "a listener failed" in caplog.text


async def test_what_calls_and_code_say_reaches_followers_and_no_listeners(database: Database, local: Tenancy) -> None:
    feed, heard, ws = Feed(database), list[str](), local.workspace.id
    feed.listen(lambda announcement: heard.append(announcement.type))
    happened = ("call.started", "call.succeeded", "execution.log", "execution.completed")

    async def follow() -> list[str]:
        seen: list[str] = []
        async for batch in feed.follow(ws, execution_id="exec_1"):
            seen += [event.type for event in batch.events]
            if len(seen) == len(happened):
                break
        return seen

    following = asyncio.create_task(follow())
    for type in happened:
        await database.write(lambda c, type=type: events.append(c, ws, type, {}, "exec_1"))  # type: ignore[misc]
    assert await asyncio.wait_for(following, 120) == list(happened)
    assert heard == ["execution.completed"]


async def test_a_closed_feed_ends_its_followers(database: Database, local: Tenancy) -> None:
    feed = Feed(database)

    async def follow() -> int:
        return len([batch async for batch in feed.follow(local.workspace.id) if batch.events])

    follower = asyncio.create_task(follow())
    await asyncio.sleep(0)
    feed.close()
    assert await asyncio.wait_for(follower, 120) == 0


async def test_unread_notices_of_a_session_are_found_without_reading_its_other_records(
    database: Database, local: Tenancy
) -> None:
    words = ("agent", "status", "isolation", "permission_mode", "cwd", "title", "model", "unattended", "budget",
             "repository", "branch", "base", "agent_session", "parent_id", "key_id")  # fmt: skip
    row = {"id": "ses_1", "workspace_id": local.workspace.id, "created_at": 1, "updated_at": 1}
    row |= {"actor_id": local.operator.id, "agent_id": local.agent.id, **dict.fromkeys(words, "")}

    def record(number: int) -> Message:
        kind: MessageKind = "notice" if number % 1000 == 0 else "text"
        data = {"isRead": number != 2000} if kind == "notice" else {"title": 'says "isRead":false'}
        return Message("ses_1", local.workspace.id, f"m{number}", number, number, "task", kind, "", data, 1, 1)

    def fill(c: Connection) -> None:
        c.execute(sa.insert(agent_sessions), row)
        for number in range(1, 4001):
            messages.put(c, record(number))

    await database.write(fill)
    plans: list[str] = []

    def find(c: Connection) -> list[Message]:
        if c.dialect.name != "sqlite":
            c.exec_driver_sql("ANALYZE session_messages")

        def explain(connection: Connection, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
            if "isRead" in str(parameters) and not statement.startswith("EXPLAIN"):
                how = "EXPLAIN QUERY PLAN " if c.dialect.name == "sqlite" else "EXPLAIN "
                plans.extend(str(line) for line in connection.exec_driver_sql(how + statement, parameters))

        sa.event.listen(c, "before_cursor_execute", explain)
        return messages.unread_notices(c, "ses_1", after=0)

    assert [one.id for one in await database.write(find)] == ["m2000"]
    assert any("ix_session_messages_notices" in line for line in plans), plans
