"""Executions that several processes share: claimed once, taken over once, and never written by one that lost them."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from executor.errors import AlreadySettled, Fenced
from executor.execution import takeover
from executor.execution.approvals.settlement import settle
from executor.execution.backlog import Backlog
from executor.execution.cluster_dispatch import AHEAD, ClusterDispatch
from executor.execution.engine import Engine
from executor.execution.journal.journal import Journal
from executor.execution.outcome import Outcome
from executor.execution.use_limits import LimitsInForce, Running
from executor.model.event import Announcement
from executor.model.execution import Execution, Limits
from executor.model.identity.actor import Actor
from executor.model.ids import new_id, now_ms
from executor.model.interaction import Binding, Interaction, InteractionStatus
from executor.runtime.registry import Runtimes
from executor.storage.database import Database
from executor.storage.executions import events, executions, guards, interactions, permits, segments
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.postgres.server import PostgresServer
from tests.support import postgres

WORKER = (
    "INSERT INTO workers (id, host, role, place, version, lease_seconds, started_at, seen_at, dead_at)"
    " VALUES ('{}', '', '', '', '', 5, now(), now(), {})"
)


@pytest.fixture
def place() -> str:
    return postgres.server().clear_shared()


@pytest.fixture
async def database(place: str) -> AsyncIterator[Database]:
    opened = await PostgresServer(postgres.server().url(place)).open()
    yield opened
    await opened.close()


@pytest.fixture
async def other(place: str) -> AsyncIterator[Database]:
    opened = await PostgresServer(postgres.server().url(place)).open()
    yield opened
    await opened.close()


@pytest.fixture
async def local(database: Database) -> Tenancy:
    return await database.write(tenancy.provision)


async def add(database: Database, local: Tenancy, **changes: object) -> Execution:
    made = Execution(
        id=new_id("exec"), workspace_id=local.workspace.id, actor_id=local.agent.id, language="typescript",
        code="return 1", status="queued", seed=os.urandom(16), clock_ms=now_ms(), limits=Limits(),
    )  # fmt: skip
    made = replace(made, **changes)  # type: ignore[arg-type]
    await database.write(lambda c: executions.insert(c, made))
    return made


async def read(database: Database, execution: Execution) -> Execution:
    found = await database.read(lambda c: executions.get(c, execution.workspace_id, execution.id))
    assert found is not None
    return found


async def test_each_queued_execution_is_claimed_by_one_process(
    database: Database, other: Database, local: Tenancy
) -> None:
    added = [await add(database, local) for _ in range(20)]
    databases = (("a", database), ("b", other)) * 5
    claims = [one.write(partial(segments.claim_queued, owner=owner, most=3)) for owner, one in databases]
    claimed = [one for found in await asyncio.gather(*claims) for one in found]
    assert sorted(one.id for one in claimed) == sorted(one.id for one in added)
    assert {one.owner for one in claimed} == {"a", "b"}
    assert {one.epoch for one in claimed} == {1}


async def test_a_dead_process_loses_its_executions_once_and_can_write_nothing_more(
    database: Database, other: Database, local: Tenancy, place: str
) -> None:
    lost = await add(database, local, status="running", owner="gone", epoch=3)
    kept = await add(database, local, status="running", owner="alive", epoch=3)
    postgres.server().execute(WORKER.format("gone", "now()") + ";" + WORKER.format("alive", "NULL"), place)
    found = await asyncio.gather(*(one.write(takeover.take_over) for one in (database, other) * 3))
    assert sum(found) == 1
    now = await read(database, lost)
    assert (now.status, now.owner, now.epoch, now.segment, now.attempts) == ("queued", "", 4, 1, 1)
    assert (await read(database, kept)).status == "running"
    with pytest.raises(Fenced):
        await database.write(lambda c: executions.fence(c, lost.id, 3))
    [claimed] = await other.write(lambda c: segments.claim_queued(c, "next", 10))
    assert (claimed.id, claimed.epoch, claimed.owner) == (lost.id, 5, "next")


async def test_an_execution_whose_process_is_lost_again_and_again_fails(
    database: Database, local: Tenancy, place: str
) -> None:
    added = await add(database, local)
    postgres.server().execute(WORKER.format("gone", "now()"), place)
    for attempt in range(1, takeover.MOST_ATTEMPTS + 1):
        [claimed] = await database.write(lambda c: segments.claim_queued(c, "gone", 1))
        assert claimed.attempts == attempt - 1
        assert await database.write(takeover.take_over) == 1
    ended = await read(database, added)
    assert ended.status == "failed" and ended.failure is not None
    assert ended.failure.code == "attempts_exhausted"


async def test_an_answer_in_between_makes_the_next_loss_the_first(
    database: Database, local: Tenancy, place: str
) -> None:
    added = await add(database, local)
    postgres.server().execute(WORKER.format("gone", "now()"), place)
    for _ in range(takeover.MOST_ATTEMPTS * 3):
        assert len(await database.write(lambda c: segments.claim_queued(c, "gone", 1))) == 1
        await database.write(lambda c: segments.note_progress(c, added.id))
        await database.write(takeover.take_over)
    assert (await read(database, added)).status == "queued"


async def test_a_process_that_stops_blames_no_one(database: Database, local: Tenancy) -> None:
    added = await add(database, local)
    await database.write(lambda c: segments.claim_queued(c, "mine", 1))
    assert await database.write(lambda c: takeover.release_all(c, "mine")) == 1
    now = await read(database, added)
    assert (now.status, now.attempts, now.segment) == ("queued", 0, 1)
    assert await database.write(lambda c: takeover.release_all(c, "mine")) == 0


@pytest.mark.parametrize(
    "type", ["policy.added", "source.removed", "connection.marked", "key.revoked", "member.removed"]
)
async def test_what_decides_about_calls_raises_the_guard(database: Database, local: Tenancy, type: str) -> None:
    workspace_id = local.workspace.id
    before = await database.read(lambda c: guards.read(c, workspace_id))
    await database.write(lambda c: events.append(c, workspace_id, "execution.log", {}))
    assert await database.read(lambda c: guards.read(c, workspace_id)) == before
    await database.write(lambda c: events.append(c, workspace_id, type, {}))
    assert await database.read(lambda c: guards.read(c, workspace_id)) == before + 1


def new_interaction(execution: Execution) -> Interaction:
    binding = Binding(execution.actor_id, execution.id, 1, "shop.buy", "", "", "", 0)
    asked = Interaction(new_id("int"), execution.workspace_id, execution.id, 1, "approval", "pending", binding, {})
    return replace(asked, created_at=now_ms(), expires_at=now_ms() + 60_000)


async def test_a_decision_that_comes_while_the_run_parks_is_never_lost(
    database: Database, other: Database, local: Tenancy
) -> None:
    """Whichever of two processes is first: the run goes on with it, or the parked execution is queued."""
    outcomes: Counter[str] = Counter()
    for _ in range(30):
        execution = await add(database, local, status="running", owner="a", epoch=1)
        asked = new_interaction(execution)
        await database.write(lambda c, one=asked: interactions.insert(c, one))  # type: ignore[misc]
        parking = asyncio.ensure_future(Journal(database, execution).park([1], 0))
        deciding = other.write(partial(settle, asked=asked, status="approved", by=local.operator))
        settled, _ = await asyncio.gather(parking, deciding)
        now = await read(database, execution)
        assert (now.status, bool(settled)) in (("running", True), ("queued", False))
        assert now.segment == (0 if settled else 1)
        outcomes[now.status] += 1
    assert sum(outcomes.values()) == 30


async def test_of_many_decisions_at_once_one_counts(database: Database, other: Database, local: Tenancy) -> None:
    for _ in range(20):
        execution = await add(database, local, status="paused", epoch=1)
        asked = new_interaction(execution)
        await database.write(lambda c, one=asked: interactions.insert(c, one))  # type: ignore[misc]
        verdicts: list[InteractionStatus] = ["approved", "denied", "expired"] * 2
        decisions = [
            one.write(partial(settle, asked=asked, status=verdict, by=local.operator, scope="execution"))
            for verdict, one in zip(verdicts, (database, other) * 3, strict=True)
        ]
        found = await asyncio.gather(*decisions, return_exceptions=True)
        assert sum(not isinstance(one, BaseException) for one in found) == 1
        assert all(isinstance(one, tuple | AlreadySettled) for one in found)
        now = await read(database, execution)
        assert (now.status, now.segment) == ("queued", 1)
        happened = await database.read(lambda c, e=execution: events.after(c, e.workspace_id, execution_id=e.id))  # type: ignore[misc]
        [decided] = [one.type for one in happened if one.type.startswith("interaction.")]
        permitted = (await database.read(lambda c, e=execution: permits.of_execution(c, e.id))).permits  # type: ignore[misc]
        assert bool(permitted) == (decided == "interaction.approved")


class LateReader(Engine):
    """Another process ends the execution, and says so, right after this one has read it."""

    async def outcome(self, actor: Actor, execution_id: str, *, whole: bool = True) -> Outcome:
        read = await super().outcome(actor, execution_id, whole=whole)
        if not read.execution.is_final:
            await self._database.write(
                lambda c: executions.finish(c, execution_id, "completed", now_ms(), 0, "1", None)
            )
            self.hear(Announcement(actor.workspace_id, execution_id, "execution.completed"))
        return read


async def test_an_end_that_comes_while_the_execution_is_read_ends_the_wait(
    database: Database, local: Tenancy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("executor.execution.engine.LOOK_SECONDS", 3600.0)
    dispatch: Any = SimpleNamespace(runs={}, backlog=Backlog(lambda waiting: None, Running(LimitsInForce(database))))
    engine = LateReader(database, dispatch, limits=Limits(), max_code_bytes=1)
    execution = await add(database, local, status="running", owner="a")
    ended = await asyncio.wait_for(engine.wait(local.operator, execution.id, 3600), 120)
    assert ended.execution.status == "completed"


class FullRuntime:
    """Without a free sandbox."""

    async def open(self) -> Any:
        await asyncio.Event().wait()


@pytest.fixture
async def dispatch(database: Database) -> AsyncIterator[ClusterDispatch]:
    processes: Any = SimpleNamespace(id="me", is_alive=True, holds=lambda owner: True)
    runtimes, pipeline = Runtimes({"typescript": cast("Any", FullRuntime())}), cast("Any", SimpleNamespace())
    made = ClusterDispatch(database, pipeline, runtimes, 1000, processes=processes, executes=True, drain_seconds=0)
    yield made
    await made.close()


async def test_what_begins_during_a_claim_takes_no_place_twice(
    dispatch: ClusterDispatch, database: Database, local: Tenancy
) -> None:
    queued = [await add(database, local) for _ in range(AHEAD)]
    dispatch._note_queued()
    claim = asyncio.create_task(dispatch._claim())
    await asyncio.sleep(0)  # it is under way
    for number in range(AHEAD):
        dispatch.begin(replace(queued[0], id=f"exec_fresh{number}", status="running"))
    await claim
    assert len(dispatch.runs) == AHEAD


async def test_executions_that_are_submitted_together_do_not_all_begin_here(
    dispatch: ClusterDispatch, database: Database, local: Tenancy
) -> None:
    one = await add(database, local, status="completed")
    some = [replace(one, id=f"exec_fresh{number}", status="running") for number in range(3 * AHEAD)]
    begun = [dispatch.begin(execution)[0] for execution in some]
    assert len([run for run in begun if run is not None]) == AHEAD
    assert not await dispatch._claim()
    assert len(dispatch.runs) == AHEAD
