"""Sessions in this process. Everything is real but the executor process: its moments must be chosen by a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from executor.model.identity.actor import Actor
from executor.model.ids import new_id
from executor.model.sessions.session import Session, Task
from executor.sessions.permissions.requests import Permissions
from executor.sessions.processes.agent_keys import ensure_agent
from executor.sessions.processes.launch import Folders
from executor.sessions.processes.pool import Pool
from executor.sessions.repositories.checkouts import Checkouts
from executor.sessions.sessions import Sessions
from executor.sessions.tasks.runner import Parts
from executor.storage.database import Database
from executor.storage.identity import tenancy
from executor.storage.sessions import sessions as session_rows
from executor.storage.sessions import tasks
from tests.sessions.database import open_database
from tests.support.conditions import until


@dataclass
class StandInConversation:
    """Completes what it is given, unless `hangs`: then not before someone stops it."""

    launcher: StandInLauncher
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def is_good(self, renew_ms: int) -> bool:
        return True

    async def execute(self, task: Task, task_ms: int) -> dict[str, Any]:
        if self.launcher.hangs:
            await self.stopped.wait()
        return {"status": "completed", "message_count": 0}

    async def stop_task(self, task_id: str, reason: str, seconds: float) -> None:
        self.stopped.set()

    async def close(self, reason: str) -> None:
        self.launcher.log.append("ending")
        await self.launcher.may_end.wait()
        self.launcher.log.append("ended")


@dataclass
class StandInLauncher:
    log: list[str] = field(default_factory=list)
    hangs: bool = False
    failure: Exception | None = None
    may_start: asyncio.Event = field(default_factory=asyncio.Event)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    prepared: Any = None

    def __post_init__(self) -> None:
        self.may_start.set()
        self.may_end.set()

    async def launch(self, session: Session, runner: Any) -> Any:
        self.log.append("starting")
        await self.may_start.wait()
        if self.failure is not None:
            raise self.failure
        return StandInConversation(self)

    def can_fork(self, session: Session) -> bool:
        return True

    async def copy_memory(self, session: Session, forked: Session) -> None:
        return


class Creation:
    """Lets everyone through."""

    unix_users = SimpleNamespace(check_owner=lambda by, name: None)

    async def check_policies(self, by: Actor, act: str, session: Any) -> None:
        return

    def admit(self, by: Actor, session: Session) -> None:
        return


@dataclass
class Place:
    sessions: Sessions
    launcher: StandInLauncher
    database: Database
    by: Actor
    folder: Path

    async def start(self, **fields: Any) -> Session:
        def job(c: Any) -> Session:
            agent = ensure_agent(c, self.by, "fake")
            session = Session(
                new_id("ses"), self.by.workspace_id, self.by.id, agent.id, "fake", "idle", "simple", "default",
                str(self.folder), **fields,
            )  # fmt: skip
            session_rows.insert(c, session)
            return session

        return await self.database.write(job)

    async def task(self, task: Task) -> Task:
        found = await self.database.read(lambda c: tasks.get(c, task.session_id, task.id))
        assert found is not None
        return found

    async def end_of(self, task: Task) -> Task:
        await until(lambda: self._has_ended(task), "the end of a task")
        return await self.task(task)

    async def _has_ended(self, task: Task) -> bool:
        return (await self.task(task)).is_final


@asynccontextmanager
async def sessions_in(folder: Path, *, limit: int = 4) -> AsyncIterator[Place]:
    database = open_database(folder / "database")
    tenant = await database.write(tenancy.provision)
    launcher, nothing = StandInLauncher(), SimpleNamespace()
    launcher.prepared = SimpleNamespace(close=nothing_to_close)
    folders = Folders(folder / "data", folder / "sessions", folder / "agents")
    policies: Any = nothing
    parts = Parts(database, Pool(limit, 3600), Permissions(database, policies), launcher, 60_000, lambda _: 60)  # type: ignore[arg-type]  # stands in
    creation: Any = Creation()
    none: Any = nothing
    sessions = Sessions(database, parts, launcher, Checkouts({}, folders), creation, folders, none, none)  # type: ignore[arg-type]  # stands in
    yield Place(sessions, launcher, database, tenant.operator, folder)
    launcher.may_start.set()
    launcher.may_end.set()
    await sessions.close()
    await database.close()


async def nothing_to_close() -> None:
    return
