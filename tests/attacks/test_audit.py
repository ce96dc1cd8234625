# ruff: noqa: S608 - the statements are the test's own
"""Attacks on the record: events changed, removed, inserted, reordered, cut off; a disk that can't be written.

And 16 and 17, on the journal: code that does not repeat itself, and a `kill -9` between an effect and its record.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.errors import ExecutorError
from executor.model.policy import Policy
from executor.policy.drafts import draft
from executor.storage.catalog import policies
from executor.storage.database import Database
from executor.storage.executions import event_chain, events
from executor.storage.tables import core
from tests.execution.conftest import ExecutorHarness, value
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon
from tests.support.ledger import effects
from tests.support.submission import submit
from tests.surfaces.api.daemon_server import running_daemon

E = core.events


async def whole(harness: ExecutorHarness) -> event_chain.Report:
    workspace_id = harness.executor.tenancy.workspace.id
    return await harness.executor.database.read(lambda c: event_chain.verify(c, workspace_id))


async def tamper(harness: ExecutorHarness, *statements: str) -> None:
    """As somebody would who has the file: past the writer."""
    with harness.executor.database.engine.connect().execution_options(writes=True) as c, c.begin():
        for statement in statements:
            assert c.exec_driver_sql(statement).rowcount > 0, statement


MIDDLE = "(select id from events order by id limit 1 offset 3)"
COLUMNS = "workspace_id, execution_id, type, at, data, actor_id, origin"
TAMPERING = {
    "changed data": [f"update events set data = '{{}}' where id = {MIDDLE}"],
    "changed type": [f"update events set type = 'other' where id = {MIDDLE}"],
    "changed time": [f"update events set at = at + 1 where id = {MIDDLE}"],
    "changed actor": [f"update events set actor_id = 'act_other' where id = {MIDDLE}"],
    "changed origin": [f"update events set origin = 'elsewhere' where id = {MIDDLE}"],
    "changed execution": [f"update events set execution_id = 'exec_other' where id = {MIDDLE}"],
    "changed seal": [f"update events set seal = '{'0' * 64}' where id = {MIDDLE}"],
    "seal taken away": [f"update events set seal = '' where id = {MIDDLE}"],
    "removed": [f"delete from events where id = {MIDDLE}"],
    "removed first": ["delete from events where id = (select min(id) from events)"],
    "inserted": [
        "update events set id = id + 1000 where id > 3",
        f"insert into events (id, {COLUMNS}, seal) select 4, {COLUMNS}, seal from events where id = 3",
    ],
    "appended": [f"insert into events ({COLUMNS}, seal) select {COLUMNS}, seal from events where id = {MIDDLE}"],
    "reordered": [
        "update events set id = -1 where id = 3",
        "update events set id = 3 where id = 4",
        "update events set id = 4 where id = -1",
    ],
    "truncated": ["delete from events where id = (select max(id) from events)"],
    "truncated to nothing": ["delete from events"],
    "head removed": ["delete from chains"],
    "head changed": ["update chains set event_id = event_id - 1"],
}


@pytest.mark.parametrize("how", TAMPERING)
async def test_the_record_is_tampered_with(harness: ExecutorHarness, how: str) -> None:
    """Defence: `seal` in `storage/executions/event_chain.py` covers every field and the seal before; `chains` keeps
    the last one."""
    await harness.run("return await tools.ledger.entries.listEntries({key: 'a'})")
    assert (await whole(harness)).problem == ""
    await tamper(harness, *TAMPERING[how])
    assert (await whole(harness)).problem != ""


async def test_a_record_cut_off_stays_broken_when_the_daemon_writes_on(harness: ExecutorHarness) -> None:
    """Defence: the writer goes on from the seal it knows (`Heads.known`), not from what it finds."""
    await harness.run("return 1")
    await tamper(harness, *TAMPERING["truncated"])
    await harness.run("return 2")
    assert (await whole(harness)).problem != ""


async def test_a_whole_record_written_again_differs_from_a_head_that_was_kept(harness: ExecutorHarness) -> None:
    """Defence: `noted` in `chains.verify`. Without a head kept elsewhere nobody can tell."""
    await harness.run("return 1")
    noted = (await whole(harness)).head
    workspace_id = harness.executor.tenancy.workspace.id

    def forge(c: Connection) -> None:
        c.execute(sa.update(E).where(E.c.type == "execution.created").values(actor_id="act_innocent"))
        last, newest = event_chain.START, 0
        for row in list(event_chain.walk(c, workspace_id)):
            last, newest = event_chain.seal(last, row), row["id"]
            c.execute(sa.update(E).where(E.c.id == newest).values(seal=last))
        c.execute(sa.update(core.chains).values(seal=last, event_id=newest))

    with harness.executor.database.engine.connect().execution_options(writes=True) as c, c.begin():
        forge(c)
    assert (await whole(harness)).problem == ""
    report = await harness.executor.database.read(lambda c: event_chain.verify(c, workspace_id, noted))
    assert "recorded" in report.problem


WIPED = {
    "everything": ["delete from events", "delete from chains"],
    "the events alone": ["delete from events"],
    "the events, and the note says so": ["delete from events", "update chains set event_id = 0, seal = ''"],
    "an older copy": [
        "delete from events where id > (select min(id) from events)",
        "update chains set event_id = (select max(id) from events), seal = (select seal from events limit 1)",
    ],
}


@pytest.mark.parametrize("how", WIPED)
async def test_110_a_record_that_was_wiped_differs_from_a_head_that_was_kept(
    harness: ExecutorHarness, how: str
) -> None:
    """Defence: `chains._end` looks for the noted head also where nothing is left to look at."""
    await harness.run("return 1")
    report = await whole(harness)
    workspace_id = harness.executor.tenancy.workspace.id
    await tamper(harness, *WIPED[how])
    found = await harness.executor.database.read(lambda c: event_chain.verify(c, workspace_id, report.head))
    assert found.problem != ""
    if how == "everything":
        assert "all events are missing" in found.problem and found.event_id == report.head[0]  # type: ignore[index]


async def test_110_the_head_of_another_workspace_is_not_found_in_this_one(harness: ExecutorHarness) -> None:
    await harness.run("return 1")
    stranger = (7, "a" * 64)
    for workspace_id in (harness.executor.tenancy.workspace.id, "ws_of_nobody"):
        found = await harness.executor.database.read(lambda c, w=workspace_id: event_chain.verify(c, w, stranger))
        assert found.problem != ""


async def test_the_chain_survives_jobs_that_are_rolled_back_and_many_writers_at_once(harness: ExecutorHarness) -> None:
    """Defence: `Heads.undo` and `Heads.forget` in `storage/database.py`."""
    database, workspace_id = harness.executor.database, harness.executor.tenancy.workspace.id

    def job(n: int) -> Callable[[Connection], None]:
        def write(c: Connection) -> None:
            events.append(c, workspace_id, "test.one", {"n": n})
            if n % 3 == 0:
                raise ValueError("on purpose")
            events.append(c, workspace_id, "test.two", {"n": n})

        return write

    for size in (1, 2, 200):
        await asyncio.gather(*(database.write(job(n)) for n in range(size)), return_exceptions=True)
        assert (await whole(harness)).problem == ""
    await database.write(job(1))
    report = await whole(harness)
    assert report.problem == "" and report.events > 200


async def test_events_from_before_there_was_a_chain_become_its_beginning(harness: ExecutorHarness) -> None:
    """Defence: `_begin` in `storage/executions/event_chain.py` seals over them; changing one breaks the first link."""
    workspace_id = harness.executor.tenancy.workspace.id
    await tamper(harness, "delete from chains", "update events set seal = ''")
    database: Database = harness.executor.database
    await database.write(lambda c: c.info["chains"].forget())
    await database.write(lambda c: events.append(c, workspace_id, "test.first", {}))
    assert (await whole(harness)).problem == ""
    await tamper(harness, "update events set data = '{\"x\": 1}' where id = 2")
    assert (await whole(harness)).problem != ""


async def test_a_restart_goes_on_with_the_chain(
    harness: ExecutorHarness, reopen: Callable[[], Awaitable[ExecutorHarness]]
) -> None:
    """Defence: `_last` reads what the commit before wrote down."""
    before = (await whole(harness)).events
    again = await reopen()
    report = await whole(again)
    assert report.problem == "" and report.events > before


# -- when the record can't be written, the act is refused -------------------------------------------------------------


async def test_an_act_whose_record_can_not_be_written_does_not_happen(harness: ExecutorHarness) -> None:
    """Defence: the event is written by the act's own transaction (`policies._note_change`, `settle_in`, the
    journal)."""
    asked = await harness.run('await tools.ledger.entries.addEntry({key: "a"})')
    database, local = harness.executor.database, harness.executor.tenancy
    await database.write(
        lambda c: (
            c.exec_driver_sql(
                "create trigger full before insert on events begin select raise(abort, 'database or disk is full'); end"
            )
            and None
        )
    )
    policy = draft("**", "allow", owner_id=local.workspace.id)

    def add(c: Connection) -> Policy:
        return policies.add(c, local.workspace.id, policy, by=local.operator)

    with pytest.raises(ExecutorError):
        await database.write(add)
    with pytest.raises(ExecutorError):
        await harness.settle(asked, "approve")
    with pytest.raises(ExecutorError):
        await submit(harness.executor.engine, local.agent, "await tools.ledger.entries.listEntries({key: 'x'})")
    assert await database.read(lambda c: policies.listing(c, local.workspace.id)) == []
    assert (harness.effects(), harness.ledger.reads) == ([], 0)
    await database.write(lambda c: c.exec_driver_sql("drop trigger full") and None)
    assert (await harness.wait(asked.execution.id)).execution.status == "paused"
    assert (await whole(harness)).problem == ""


async def test_a_database_that_can_not_be_written_refuses_every_act(harness: ExecutorHarness) -> None:
    """Defence: as above; a database that is read-only is an error, never a silent success."""
    database, local = harness.executor.database, harness.executor.tenancy
    writer: Any = await database.write(lambda c: c.connection.dbapi_connection)
    writer.execute("pragma query_only=1")
    with pytest.raises(ExecutorError):
        await harness.policy("**", "allow")
    with pytest.raises(ExecutorError):
        await submit(harness.executor.engine, local.agent, "return 1")
    assert await database.read(lambda c: policies.listing(c, local.workspace.id)) == []
    writer.execute("pragma query_only=0")
    await harness.policy("a.**", "deny")
    assert (await whole(harness)).problem == ""


async def write_nothing(database: Database) -> None:
    await database.write(lambda c: None)


def test_refused_requests_are_recorded_in_bounded_number(tmp_path: Path) -> None:
    """Defence: `MOST_OF_ONE` in `surfaces/http/refusal_audit.py`."""
    with running_daemon(tmp_path) as daemon:
        for _ in range(60):
            assert daemon.get("/v1/policies", role="exo_" + "w" * 43).status == 401
        daemon.run(write_nothing(daemon.executor.database))  # behind everything that was queued before
        report = daemon.get("/v1/audit?type=request.refused&limit=1000").json["items"]
        assert 1 <= len(report) <= 20
        assert daemon.get("/v1/audit/verify").json["ok"]


# -- 16 and 17 the journal --------------------------------------------------------------------------------------------


async def test_16_code_that_hopes_to_differ_when_it_is_replayed(
    harness: ExecutorHarness, reopen: Callable[[], Awaitable[ExecutorHarness]]
) -> None:
    """Defence: seed and clock come from the journal (`Program`), so that a replay sees what was seen before."""
    outcome = await harness.run("""
        const key = [Math.random(), Date.now(), crypto.randomUUID(), performance.now()].join();
        await tools.ledger.entries.listEntries({key});
        const made = await tools.ledger.entries.addEntry({key});
        return made.key === key;
    """)
    shown = outcome.interactions[0].prompt["arguments"]["key"]
    again = await reopen()
    await again.settle(outcome, "approve")
    assert value(await again.wait(outcome.execution.id)) is True
    assert again.effects() == [("entries", shown)]


async def test_16_an_execution_whose_code_was_changed_while_it_waited(harness: ExecutorHarness) -> None:
    """Defence: `Position._match`: a call that differs from the journal ends the run, and nothing is sent."""
    outcome = await harness.run('await tools.ledger.entries.addEntry({key: "asked"})')
    evil = sa.update(core.executions).values(code='await tools.ledger.entries.addEntry({key: "other"})')
    await harness.executor.database.write(lambda c: c.execute(evil) and None)
    await harness.settle(outcome, "approve")
    finished = await harness.wait(outcome.execution.id)
    assert finished.execution.failure is not None and finished.execution.failure.code == "nondeterminism"
    assert harness.effects() == []


def test_17_a_kill_between_an_effect_and_its_record(tmp_path: Path) -> None:
    """Defence: `calls.start` before sending, and `Run._take_up_sent`: a write without an answer is never repeated."""
    file = tmp_path / "effects"
    command = [sys.executable, "-m", "tests.support.ledger", str(file), "1500"]
    ledger = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    daemon = Daemon(tmp_path, EXECUTOR_WORKERS="1")
    try:
        assert ledger.stdout is not None
        url = ledger.stdout.readline().strip()
        daemon.start()
        daemon.post("/v1/sources", {"location": f"{url}/openapi.json", "namespace": "ledger"})
        daemon.post("/v1/policies", {"pattern": "ledger.**", "action": "allow"})
        code = 'return await tools.ledger.entries.addEntry({key: "once"})'
        execution = daemon.post("/v1/executions", {"code": code, "wait": 0})["executionId"]
        wait_for(lambda: effects(file) == [("entries", "once")])
        daemon.kill()
        daemon.start()
        view = wait_for(lambda: find_paused(daemon, execution))
        assert [asked["kind"] for asked in view["interactions"]] == ["unknown_outcome"]
        daemon.post(f"/v1/interactions/{view['interactions'][0]['id']}/deny")
        ended = daemon.get(f"/v1/executions/{execution}?wait=60")
        assert ended["error"]["code"] == "unknown_outcome"
        assert effects(file) == [("entries", "once")]
        assert daemon.get("/v1/audit/verify")["ok"]
    finally:
        daemon.stop()
        ledger.kill()
        ledger.communicate()


def find_paused(daemon: Daemon, execution: str) -> Any:
    view = daemon.get(f"/v1/executions/{execution}")
    return view if view["status"] == "paused" else None
