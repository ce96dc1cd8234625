"""What processes on one PostgreSQL database hear of each other, and what they find when they hear nothing."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import uvloop

from executor.model.event import Announcement, Revocation
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.feed import Feed
from executor.storage.identity import tenancy
from executor.storage.postgres import notices
from executor.storage.postgres.server import PostgresServer
from tests.support import postgres
from tests.support.conditions import until

LISTENING = "SELECT pid FROM pg_stat_activity WHERE datname = '{}' AND application_name = 'executor listen'"


class Process:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.feed = Feed(database)
        self.heard: list[Announcement] = []
        self.gaps = 0
        self.feed.listen(self.heard.append, self._count)

    def _count(self) -> None:
        self.gaps += 1

    async def append(self, workspace_id: str, type: str, **data: str) -> None:
        await self.database.write(lambda c: events.append(c, workspace_id, type, data))


@pytest.fixture
def place() -> str:
    return postgres.server().clear_shared()


@pytest.fixture
async def processes(place: str) -> AsyncIterator[tuple[Process, Process]]:
    async with AsyncExitStack() as last_first:
        made = []
        for _ in range(2):
            database = await PostgresServer(postgres.server().url(place)).open()
            last_first.push_async_callback(database.close)
            one = Process(database)
            last_first.push_async_callback(one.feed.leave)
            await one.feed.join()
            made.append(one)
        await until(lambda: all(one.gaps for one in made), "both listen")
        yield made[0], made[1]


async def follow(process: Process, workspace_id: str, found: list[int]) -> None:
    async for batch in process.feed.follow(workspace_id):
        found.extend(event.id for event in batch.events)


async def test_what_one_commits_the_other_hears(processes: tuple[Process, Process]) -> None:
    first, second = processes
    workspace_id = (await first.database.write(tenancy.provision)).workspace.id
    await first.append(workspace_id, "policy.added")
    await first.append(workspace_id, "key.revoked", keyId="key_1")
    await until(lambda: len(second.heard) == 2)
    assert second.heard[0] == Announcement(workspace_id, "", "policy.added")
    assert second.heard[1] == Revocation(workspace_id, "", "key.revoked", frozenset({"key_1"}))
    assert [one.type for one in first.heard] == ["policy.added", "key.revoked"]  # once, and not from itself


async def test_many_at_once_are_few_notifications_and_all_arrive(processes: tuple[Process, Process]) -> None:
    first, second = processes
    workspace_id = (await first.database.write(tenancy.provision)).workspace.id
    types = [f"policy.{number:04}" for number in range(500)]
    await first.database.write(lambda c: events.append_all(c, workspace_id, "", [(type, {}) for type in types]))
    await until(lambda: len(second.heard) == 500)
    assert [one.type for one in second.heard] == types


async def test_followers_of_two_processes_see_each_event_once_and_in_order(processes: tuple[Process, Process]) -> None:
    workspace_id = (await processes[0].database.write(tenancy.provision)).workspace.id
    found: list[list[int]] = [[], []]
    following = [asyncio.create_task(follow(one, workspace_id, ids)) for one, ids in zip(processes, found, strict=True)]
    await asyncio.gather(*(one.append(workspace_id, "x") for _ in range(100) for one in processes))
    await until(lambda: all(len(ids) >= 200 for ids in found))
    assert found[0] == found[1] == sorted(set(found[0]))
    for task in following:
        task.cancel()


async def test_a_connection_that_was_cut_without_a_word_is_noticed_and_nothing_is_missed(
    processes: tuple[Process, Process], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "SILENT_SECONDS", 2.0)
    first, second = processes
    workspace_id = (await first.database.write(tenancy.provision)).workspace.id
    found: list[int] = []
    following = asyncio.create_task(follow(second, workspace_id, found))
    await first.append(workspace_id, "before")
    await until(lambda: len(found) == 1)
    gaps, stopped = second.gaps, [row[0] for row in postgres.server().execute(LISTENING.format(place))]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        await first.append(workspace_id, "during")
        await until(lambda: len(found) == 2, "the follower looks itself")
        await until(lambda: second.gaps > gaps, "it connects again, and drops what it remembers")
        await first.append(workspace_id, "policy.added")
        await until(lambda: "policy.added" in [one.type for one in second.heard])
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        following.cancel()


async def test_what_others_act_on_goes_at_once_and_takes_along_what_waits(
    processes: tuple[Process, Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = processes
    workspace_id = (await first.database.write(tenancy.provision)).workspace.id
    monkeypatch.setattr(notices, "PAUSE", 3600.0)
    await first.append(workspace_id, "call.started")
    await first.append(workspace_id, "policy.added")
    await until(lambda: [one.type for one in second.heard] == ["", "policy.added"])
    await first.append(workspace_id, "policy.removed")  # so soon after the last one that it waits
    await first.append(workspace_id, "policy.moved")
    await first.feed.leave()
    await until(lambda: [one.type for one in second.heard[2:]] == ["policy.removed", "policy.moved"])


def test_announcements_in_one_turn_of_the_daemons_own_loop_all_arrive(place: str) -> None:
    heard: list[str] = []
    gaps: list[bool] = []

    async def announce() -> None:
        url = postgres.server().url(place)
        listener = notices.Notices(
            url, lambda found: heard.extend(one.type for one in found), lambda: gaps.append(True)
        )
        await until(lambda: gaps, "it listens")
        sender = notices.Notices(url, lambda found: None, lambda: None)
        for type in ("policy.added", "call.started", "policy.removed"):
            sender.announce([Announcement("ws_1", "", type)])
        await until(lambda: len(heard) == 3)
        await sender.close()
        await listener.close()

    uvloop.run(announce())
    assert heard == ["policy.added", "", "policy.removed"]
