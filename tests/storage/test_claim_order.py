"""Queued executions are claimed by turns of workspaces and actors, whatever one of them has queued."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Connection

from executor.model.shares import Waiting, share
from executor.storage.database import Database
from executor.storage.executions import segments
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.postgres.server import PostgresServer
from tests.support import postgres

BACKLOG = 5_000
ADD_WORKSPACE = (
    "INSERT INTO workspaces SELECT w.* FROM (SELECT (jsonb_populate_record(w, jsonb_build_object('id', '{0}',"
    " 'name', '{0}'))).* FROM workspaces w LIMIT 1) AS w"
)
ADD_ACTOR = (
    "INSERT INTO actors SELECT a.* FROM (SELECT (jsonb_populate_record(a, jsonb_build_object('id', '{1}',"
    " 'workspace_id', '{0}', 'account_id', NULL, 'issuer', '', 'subject', '{1}', 'name', '{1}'))).*"
    " FROM actors a WHERE a.kind = 'agent' LIMIT 1) AS a"
)
ADD_QUEUED = (
    "INSERT INTO executions (id, workspace_id, actor_id, language, code, status, seed, clock_ms, limits, epoch,"
    " wall_ms, created_at, updated_at) SELECT 'exec_' || '{2}' || lpad(n::text, 8, '0'), '{0}', '{1}',"
    " 'typescript', '', '{4}', '', 0, '{{}}', 0, 0, 0, 0 FROM generate_series(1, {3}) AS n"
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
async def local(database: Database) -> Tenancy:
    return await database.write(tenancy.provision)


def add_actor(place: str, workspace_id: str, actor_id: str) -> None:
    postgres.server().execute(ADD_ACTOR.format(workspace_id, actor_id), place)


def add_workspace(place: str, workspace_id: str) -> None:
    postgres.server().execute(ADD_WORKSPACE.format(workspace_id), place)


def queue(place: str, workspace_id: str, actor_id: str, age: str, count: int, status: str = "queued") -> None:
    """`age` is the beginning of their ids: what sorts first is older."""
    postgres.server().execute(ADD_QUEUED.format(workspace_id, actor_id, age, count, status), place)


async def claim(database: Database, most: int) -> list[Any]:
    return await database.write(lambda c: segments.claim_queued(c, "me", most))


async def test_a_long_backlog_of_one_actor_leaves_the_others_their_share(
    database: Database, local: Tenancy, place: str
) -> None:
    workspace_id = local.workspace.id
    add_actor(place, workspace_id, "act_quiet")
    queue(place, workspace_id, local.agent.id, "a", BACKLOG)
    queue(place, workspace_id, "act_quiet", "z", 3)
    first = await claim(database, 8)
    assert Counter(one.actor_id for one in first) == {local.agent.id: 5, "act_quiet": 3}
    oldest = [one.id for one in first if one.actor_id == local.agent.id]
    assert sorted(oldest) == [f"exec_a{number:08}" for number in range(1, 6)]
    assert len(await claim(database, 8)) == 8


async def test_a_workspace_with_many_actors_gets_no_more_than_one_with_a_single_one(
    database: Database, local: Tenancy, place: str
) -> None:
    add_workspace(place, "ws_other")
    add_actor(place, "ws_other", "act_single")
    for number in range(6):
        add_actor(place, local.workspace.id, f"act_{number}")
        queue(place, local.workspace.id, f"act_{number}", f"a{number}", 20)
    queue(place, "ws_other", "act_single", "z", 20)
    claimed = await claim(database, 8)
    assert Counter(one.workspace_id for one in claimed) == {local.workspace.id: 4, "ws_other": 4}
    crowd = [one.actor_id for one in claimed if one.workspace_id != "ws_other"]
    assert len(set(crowd)) == 4


async def test_a_claim_walks_only_as_far_as_it_takes(database: Database, local: Tenancy, place: str) -> None:
    """With a backlog of thousands, and thousands that have ended, no part of a plan reads more than a few rows."""
    add_actor(place, local.workspace.id, "act_quiet")
    queue(place, local.workspace.id, local.agent.id, "a", BACKLOG)
    queue(place, local.workspace.id, local.agent.id, "b", BACKLOG, "completed")
    queue(place, local.workspace.id, "act_quiet", "z", 3)
    postgres.server().execute("ANALYZE executions", place)
    plans: list[dict[str, Any]] = []

    def explain(c: Connection, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "unnest" in statement or "RECURSIVE" in statement:
            c.info["pipeline"].run(lambda: None)  # what goes before it may decide how it is planned
            found = c.connection.cursor()
            found.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
            plans.append(found.fetchone()[0][0]["Plan"])  # type: ignore[index]

    event.listen(database.engine, "before_cursor_execute", explain)
    assert len(await claim(database, 8)) == 8
    event.remove(database.engine, "before_cursor_execute", explain)
    nodes = [node for plan in plans for node in walk(plan)]
    assert len(plans) == 2
    done = [node for node in nodes if node.get("Relation Name") == "executions" and node["Actual Loops"]]
    assert {node.get("Index Name") for node in done} == {"ix_executions_claimed_next"}
    assert max(node["Actual Rows"] for node in nodes) <= 10
    assert not any(node["Node Type"] == "Sort" for node in nodes if node["Actual Loops"])


def walk(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(one for part in node.get("Plans", []) for one in walk(part))]


def test_in_the_long_run_each_one_that_waits_gets_the_same() -> None:
    """Also if there is only ever room for one."""
    waiting = [Waiting("ws_a", "act_1", 1), Waiting("ws_a", "act_2", 1), Waiting("ws_b", "act_3", 1)]
    chance = random.Random(7)
    taken = Counter(one.actor_id for _ in range(4_000) for one in share(waiting, 1, chance))
    assert 1_800 < taken["act_3"] < 2_200
    assert 850 < taken["act_1"] < 1_150


@pytest.mark.parametrize("most", [1, 3, 8, 100])
def test_no_room_is_left_while_anyone_waits(most: int) -> None:
    waiting = [Waiting("ws_a", f"act_{number}", min(most, number)) for number in range(1, 6)]
    waiting.append(Waiting("ws_b", "act_x", min(most, 2)))
    shares = share(waiting, most, random.Random(1))
    assert sum(one.count for one in shares) == min(most, sum(one.count for one in waiting))
    assert share([], most, random.Random(1)) == []
