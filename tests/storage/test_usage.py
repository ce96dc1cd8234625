"""Limits are exact however many submit and claim at once, and counting them stays cheap."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Connection

from executor.errors import LimitReached
from executor.execution import takeover
from executor.execution.journal.journal import Journal
from executor.execution.use_limits import admit
from executor.model.execution import Execution, Limits
from executor.model.ids import new_id, now_ms
from executor.model.use_limits import RANKS, Bounds, ChosenLimits, UseLimits
from executor.storage.database import Database
from executor.storage.executions import executions, segments, usage
from executor.storage.identity import use_limits
from executor.storage.identity.tenancy import Tenancy
from executor.storage.postgres.server import PostgresServer
from tests.storage.test_claim_order import BACKLOG, add_actor, add_workspace, queue, walk
from tests.support import postgres

DEAD = (
    "INSERT INTO workers (id, host, role, place, version, lease_seconds, started_at, seen_at, dead_at)"
    " VALUES ('{}', '', '', '', '', 5, now(), now(), now())"
)


def fresh(local: Tenancy, **changes: Any) -> Execution:
    values: dict[str, Any] = {
        "id": new_id("exec"), "workspace_id": local.workspace.id, "actor_id": local.agent.id, "language": "typescript",
        "code": "return 1", "status": "running", "seed": os.urandom(16), "clock_ms": now_ms(), "limits": Limits(),
        "created_at": now_ms(), "owner": "here",
    }  # fmt: skip
    return Execution(**{**values, **changes})


async def submit(database: Database, execution: Execution, bounds: Bounds, *, shared: bool) -> str:
    """What became of it."""
    journal = Journal(database, execution)
    try:
        return (await journal.insert(lambda c, one: admit(c, one, bounds, counts_owned=shared))).status
    except LimitReached as refused:
        assert refused.status == 429 and refused.hint
        return f"{refused.details['of']} {refused.details['limit']}"


@pytest.mark.parametrize("of", ["workspace", "actor"])
async def test_no_more_are_queued_than_the_limit_however_many_come_at_once(
    database: Database, local: Tenancy, of: str
) -> None:
    bounds = Bounds(**{of: UseLimits(queued=7)})
    queued = [fresh(local, status="queued", owner="") for _ in range(30)]
    outcomes = await asyncio.gather(*(submit(database, one, bounds, shared=False) for one in queued))
    assert Counter(outcomes) == {"queued": 7, f"{of} queued": 23}
    assert await database.read(lambda c: usage.count_queued(c, local.workspace.id, local.agent.id, 100)) == 7
    refused = [one for one, outcome in zip(queued, outcomes, strict=True) if outcome != "queued"]
    for one in refused:
        assert await database.read(lambda c, key=one.id: executions.get(c, local.workspace.id, key)) is None
    someone = fresh(local, status="queued", owner="", actor_id=local.operator.id)
    other = await submit(database, someone, bounds, shared=False)
    assert other == ("queued" if of == "actor" else "workspace queued")


@pytest.mark.parametrize("of", ["workspace", "actor"])
async def test_no_more_are_submitted_in_a_minute_than_the_limit(database: Database, local: Tenancy, of: str) -> None:
    bounds = Bounds(**{of: UseLimits(per_minute=5)})
    some = [fresh(local) for _ in range(12)]
    outcomes = await asyncio.gather(*(submit(database, one, bounds, shared=False) for one in some))
    assert Counter(outcomes) == {"running": 5, f"{of} perMinute": 7}
    ago = now_ms() - 59_500
    await database.write(lambda c: move_back(c, ago))
    with pytest.raises(LimitReached) as refused:
        await Journal(database, fresh(local)).insert(lambda c, one: admit(c, one, bounds, counts_owned=False))
    assert refused.value.details["seconds"] == 1
    await database.write(lambda c: move_back(c, now_ms() - 60_000))
    assert await submit(database, fresh(local), bounds, shared=False) == "running"


def move_back(c: Connection, at: int) -> None:
    c.exec_driver_sql(f"UPDATE executions SET created_at = {at}")  # noqa: S608 - a number


@pytest.fixture(name="shared")
async def open_shared() -> AsyncIterator[tuple[Database, Database, str]]:
    """As two processes have it."""
    name = postgres.server().clear_shared()
    both = [await PostgresServer(postgres.server().url(name)).open() for _ in range(2)]
    yield both[0], both[1], name
    for one in both:
        await one.close()


@pytest.fixture(name="tenancy")
async def provision(shared: tuple[Database, Database, str]) -> Tenancy:
    from executor.storage.identity import tenancy

    return await shared[0].write(tenancy.provision)


async def choose(database: Database, workspace_id: str, actor_id: str = "", **chosen: Any) -> None:
    await database.write(lambda c: use_limits.save(c, workspace_id, actor_id, ChosenLimits(**chosen)))


@pytest.mark.parametrize("of", ["workspace", "actor"])
async def test_two_processes_together_run_no_more_than_the_limit(
    shared: tuple[Database, Database, str], tenancy: Tenancy, of: str
) -> None:
    """Submitted and claimed at the same time, some taken from a dead process meanwhile."""
    first, second, place = shared
    bounds = Bounds(**{of: UseLimits(running=3, queued=1_000)})
    actor_id = tenancy.agent.id if of == "actor" else ""
    await choose(first, tenancy.workspace.id, actor_id, running=3)
    postgres.server().execute(DEAD.format("gone"), place)
    submitting = [submit(one, fresh(tenancy, owner="gone"), bounds, shared=True) for one in (first, second) * 6]
    claiming = [one.write(partial(segments.claim_queued, owner="here", most=4)) for one in (first, second) * 3]
    outcomes, _ = await asyncio.gather(asyncio.gather(*submitting), asyncio.gather(*claiming))
    assert Counter(outcomes)["running"] + Counter(outcomes)["queued"] == 12
    assert await count_owned(first, tenancy) == 3
    assert [await claim(one, 8) for one in (first, second)] == [0, 0]
    while await first.write(takeover.take_over):  # those of the lost process are free again
        claims = await asyncio.gather(*(claim(one, 8) for one in (first, second, first, second)))
        assert await count_owned(first, tenancy) == 3, claims
    await first.write(end_owned)
    assert sum(await asyncio.gather(*(claim(one, 2) for one in (first, second)))) == 3


async def claim(database: Database, most: int, defaults: Bounds = Bounds()) -> int:  # noqa: B008 - it is frozen
    return len(await database.write(lambda c: segments.claim_queued(c, "here", most, defaults)))


async def count_owned(database: Database, tenancy: Tenancy) -> int:
    return await database.read(lambda c: usage.count_owned(c, tenancy.workspace.id, "", 100))


def end_owned(c: Connection) -> None:
    c.exec_driver_sql("UPDATE executions SET status = 'completed', owner = '' WHERE owner != ''")


async def test_a_parked_execution_leaves_its_place_and_one_with_a_call_under_way_keeps_it(
    shared: tuple[Database, Database, str], tenancy: Tenancy
) -> None:
    database, bounds = shared[0], Bounds(actor=UseLimits(running=2))
    kept, parked, waiting = fresh(tenancy), fresh(tenancy), fresh(tenancy)
    assert [await submit(database, one, bounds, shared=True) for one in (kept, parked, waiting)] == [
        "running", "running", "queued",
    ]  # fmt: skip
    await database.write(lambda c: executions.pause(c, kept.id, 0))
    assert await claim(database, 8, bounds) == 0
    await database.write(lambda c: executions.park(c, parked.id, 0))
    assert await claim(database, 8, bounds) == 1
    resumed = await database.write(lambda c: segments.resume(c, parked.id))
    assert resumed is not None and resumed.status == "queued"
    assert await claim(database, 8, bounds) == 0


async def test_a_new_execution_does_not_overtake_those_that_wait_for_a_place(
    shared: tuple[Database, Database, str], tenancy: Tenancy
) -> None:
    database, bounds = shared[0], Bounds(actor=UseLimits(running=1))
    assert await submit(database, fresh(tenancy), bounds, shared=True) == "running"
    assert await submit(database, fresh(tenancy), bounds, shared=True) == "queued"
    await database.write(end_owned)
    assert await submit(database, fresh(tenancy), bounds, shared=True) == "queued"
    assert await submit(database, fresh(tenancy, priority="high"), bounds, shared=True) == "running"


async def test_claims_follow_weights_and_priorities(shared: tuple[Database, Database, str], tenancy: Tenancy) -> None:
    database, place = shared[0], shared[2]
    add_workspace(place, "ws_heavy")
    add_actor(place, "ws_heavy", "act_heavy")
    queue(place, tenancy.workspace.id, tenancy.agent.id, "a", 40)
    queue(place, "ws_heavy", "act_heavy", "b", 40)
    await choose(database, "ws_heavy", weight=3)
    urgent = fresh(tenancy, status="queued", owner="", priority="high")
    later = fresh(tenancy, id="exec_0", status="queued", owner="", priority="low")
    for one in (urgent, later):
        await database.write(lambda c, added=one: executions.insert(c, added))
    claimed = await database.write(lambda c: segments.claim_queued(c, "here", 4))
    assert Counter(one.workspace_id for one in claimed) == {"ws_heavy": 3, tenancy.workspace.id: 1}
    assert [one.id for one in claimed if one.workspace_id != "ws_heavy"] == [urgent.id]
    rest = await database.write(lambda c: segments.claim_queued(c, "here", 1_000))
    mine = [one.id for one in rest if one.workspace_id != "ws_heavy"]
    assert len(rest) == 40 - 3 + 40 + 1 and mine[-1] == later.id


async def test_a_hundred_thousand_queued_executions_delay_no_one_and_are_not_walked(
    shared: tuple[Database, Database, str], tenancy: Tenancy
) -> None:
    """A hundred thousand of one actor, thousands that run elsewhere, and a limit: every part of every plan reads a few
    rows of an index."""
    database, place = shared[0], shared[2]
    add_workspace(place, "ws_quiet")
    add_actor(place, "ws_quiet", "act_quiet")
    add_actor(place, tenancy.workspace.id, "act_busy")
    queue(place, tenancy.workspace.id, tenancy.agent.id, "a", 100_000)
    queue(place, tenancy.workspace.id, "act_busy", "c", BACKLOG, "running")
    postgres.server().execute("UPDATE executions SET owner = 'there' WHERE status = 'running'", place)
    queue(place, "ws_quiet", "act_quiet", "z", 1)
    await choose(database, tenancy.workspace.id, tenancy.agent.id, running=6)
    postgres.server().execute("ANALYZE executions", place)
    plans = explain_all(database)
    claimed = await database.write(lambda c: segments.claim_queued(c, "here", 8))
    assert Counter(one.actor_id for one in claimed) == {tenancy.agent.id: 6, "act_quiet": 1}
    bounds = Bounds(actor=UseLimits(running=6, queued=50, per_minute=10))
    assert await submit(database, fresh(tenancy), bounds, shared=True) == "actor queued"
    nodes = [node for plan in plans() for node in walk(plan) if node["Actual Loops"]]
    read = [node for node in nodes if node.get("Relation Name") == "executions"]
    assert {node.get("Index Name") for node in read} <= {
        "ix_executions_claimed_next", "ix_executions_owned", "ix_executions_queued",
        "ix_executions_workspace_id_actor_id_id",
    }  # fmt: skip
    assert max(node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in nodes) <= 51
    assert not any(node["Node Type"] == "Sort" for node in nodes)


def explain_all(database: Database) -> Callable[[], list[dict[str, Any]]]:
    """Every statement that reads executions, with what its plan did, until the result is called."""
    plans: list[dict[str, Any]] = []

    def explain(c: Connection, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "FROM executions" in statement and statement.lstrip().startswith(("WITH", "SELECT")):
            c.info["pipeline"].run(lambda: None)  # what goes before it may decide how it is planned
            found = c.connection.cursor()
            found.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
            plans.append(found.fetchone()[0][0]["Plan"])  # type: ignore[index]

    def stop() -> list[dict[str, Any]]:
        event.remove(database.engine, "before_cursor_execute", explain)
        assert len(plans) >= 5
        return plans

    event.listen(database.engine, "before_cursor_execute", explain)
    return stop


def test_priorities_are_claimed_in_their_order() -> None:
    assert sorted(RANKS, key=RANKS.__getitem__) == ["high", "normal", "low"]
