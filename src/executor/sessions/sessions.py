"""Agent sessions: stopped, resumed, archived, forked and deleted by people; taken up when the daemon starts again."""

from __future__ import annotations

import asyncio
import logging
import shutil
from dataclasses import replace
from weakref import WeakValueDictionary

from sqlalchemy.engine import Connection

from executor.errors import Conflict, ExecutorError, NotFound, SessionFailed
from executor.model.event import Announcement
from executor.model.identity.actor import Actor
from executor.model.ids import new_id, now_ms
from executor.model.sessions.session import Process, Session
from executor.sessions.access import check_manager, check_owner, find
from executor.sessions.agents.configured import ConfiguredAgents
from executor.sessions.agents.installation import Presence, detect
from executor.sessions.creation import Creation, check_number, started_data
from executor.sessions.locks import Locks
from executor.sessions.permissions.agent_tools import START
from executor.sessions.permissions.requests import Permissions
from executor.sessions.processes import process
from executor.sessions.processes.credentials import end_credentials
from executor.sessions.processes.launch import Folders, Launcher
from executor.sessions.repositories.checkouts import Checkouts
from executor.sessions.repositories.clones import Clones
from executor.sessions.repositories.work import Work
from executor.sessions.tasks.prompts import Prompts
from executor.sessions.tasks.runner import Parts, Runner, task_record
from executor.sessions.terminals.terminals import Terminals
from executor.sessions.transcripts.open_transcripts import Transcripts
from executor.sessions.transcripts.transcript import Transcript
from executor.sessions.unix_users import remove_files
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.executions.events import By
from executor.storage.identity.revocations import find_revocation
from executor.storage.sessions import messages, sessions, tasks

logger = logging.getLogger(__name__)
LOSSES = ("member.changed", "member.removed", "agent.revoked")  # after which a session may have to end


class Sessions:
    def __init__(
        self, database: Database, parts: Parts, launcher: Launcher, checkouts: Checkouts, creation: Creation,
        folders: Folders, configured: ConfiguredAgents, clones: Clones,
    ) -> None:  # fmt: skip
        self._database = database
        self._parts = parts
        self._launcher = launcher
        self._folders = folders
        self.configured = configured
        self._clones = clones
        self._runners: WeakValueDictionary[str, Runner] = WeakValueDictionary()
        self._locks = Locks()  # for anyone who stops, resumes, archives or deletes one: a stop lasts a while
        self.checkouts = checkouts
        self.creation = creation
        self.work = Work(database, checkouts, self._end_process)
        self.transcripts = Transcripts(database)
        self.terminals = Terminals(database, self._runner_of, folders, creation.check_policies)
        self.prompts = Prompts(database, self._runner_of, creation.admit)

    @property
    def processes(self) -> dict[str, int]:
        """How many there are: busy or idle; and how many sessions wait for one."""
        return self._parts.pool.counts

    @property
    def permissions(self) -> Permissions:
        return self._parts.permissions

    async def list_agents(self) -> list[Presence]:
        return await asyncio.to_thread(detect, self._folders.agents, self.configured.agents)

    async def follow(self, by: Actor, session_id: str) -> Transcript:
        return await self.transcripts.of(await find(self._database, by, session_id))

    async def stop(self, by: Actor, session_id: str, reason: str = "") -> Session:
        """Its task, its process and everything that the process started end. The transcript stays."""
        async with self._locks.of(session_id):
            session = await find(self._database, by, session_id)
            check_manager(by, session)
            if session.status == "stopped":
                raise Conflict(f"session {session_id} is already stopped", hint="there is nothing to stop")
            return await self._stop(session, f"stopped by {by.name}" + (f": {reason}" if reason else ""), by)

    def on_announcement(self, announcement: Announcement) -> None:
        if announcement.type in LOSSES:
            self.on_gap()

    def on_gap(self) -> None:
        """Someone may do less than before: what runs for those who may no longer run code ends."""
        if self._runners:
            ending = asyncio.create_task(self._end_revoked())
            self._parts.work.add(ending)
            ending.add_done_callback(self._parts.work.discard)

    async def _end_revoked(self) -> None:
        for runner in list(self._runners.values()):
            async with self._locks.of(runner.session.id):
                await self._end_if_revoked(runner.session)

    async def _end_if_revoked(self, session: Session) -> bool:
        """Whether its agent may no longer run code."""

        def look_up(c: Connection) -> tuple[Session | None, str]:
            found = sessions.get(c, session.workspace_id, session.id)
            return found, find_revocation(c, session.workspace_id, session.agent_id, "")

        found, why = await self._database.read(look_up)
        if found is not None and found.status != "stopped" and why:
            await self._stop(found, f"access was revoked: {why}", None)
        return bool(why)

    async def _stop(self, session: Session, why: str, by: By) -> Session:
        """Written down first, so that nothing new begins."""
        runner = await self._runner_of(session)
        queued = await self._database.read(lambda c: tasks.of_session(c, session.id, statuses=("queued",)))

        def job(c: Connection) -> Session | None:
            for task in tasks.of_session(c, session.id, statuses=("queued",)):
                tasks.change(c, task.id, only=("queued",), status="cancelled", finished_at=now_ms())
            data = {"sessionId": session.id, "reason": why}
            events.append(c, session.workspace_id, "agent_session.stopped", data, by=by)
            return sessions.change(c, session.id, status="stopped")

        await runner.transcript.record([task_record(task, "cancelled") for task in queued], job)
        await runner.close(why)
        now = await self._database.read(lambda c: sessions.get(c, session.workspace_id, session.id))
        return self._show(now, session.id)

    async def resume(self, by: Actor, session_id: str) -> Session:
        """A session that was stopped or archived takes prompts again."""
        async with self._locks.of(session_id):
            session = await find(self._database, by, session_id)
            check_owner(by, session)
            if session.status != "stopped" and session.archived_at is None and session.removed_at is None:
                raise Conflict(f"session {session_id} is {session.status}", hint="send it a prompt")

            def job(c: Connection) -> Session | None:
                events.append(c, session.workspace_id, "agent_session.resumed", {"sessionId": session_id}, by=by)
                return sessions.change(c, session_id, status="idle", archived_at=None)

            await self._clones.ensure(session, await self.transcripts.of(session))
            return self._show(await self._database.write(job), session_id)

    async def archive(self, by: Actor, session_id: str) -> Session:
        async with self._locks.of(session_id):
            session = await find(self._database, by, session_id)
            check_manager(by, session)
            if session.archived_at is not None:
                hint = f"run `executor sessions resume {session_id}`"
                raise Conflict(f"session {session_id} is already archived", hint=hint)
            if session.status != "stopped":
                await self._stop(session, f"archived by {by.name}", by)

            def job(c: Connection) -> Session | None:
                events.append(c, session.workspace_id, "agent_session.archived", {"sessionId": session_id}, by=by)
                return sessions.change(c, session_id, archived_at=now_ms())

            return self._show(await self._database.write(job), session_id)

    async def delete(self, by: Actor, session_id: str) -> str:
        """With its transcript and files. Work in a repository is kept under a reference, which is returned."""
        async with self._locks.of(session_id):
            session = await find(self._database, by, session_id)
            check_manager(by, session)
            if session.status != "stopped":
                await self._stop(session, f"deleted by {by.name}", by)
            kept = await self._keep_work(session) if session.repository else ""

            def job(c: Connection) -> None:
                data = {"sessionId": session_id, "agent": session.agent, "snapshot": kept}
                events.append(c, session.workspace_id, "agent_session.deleted", data, by=by)
                sessions.delete(c, session_id)

            await self._database.write(job)
            await self._remove_files(session)
            return kept

    async def _keep_work(self, session: Session) -> str:
        async with self.checkouts.lock(session.id):
            return await self.checkouts.snapshot(session)

    async def remove_idle_clones(self) -> int:
        """Each after a snapshot. One whose work can't be kept stays."""
        removed = 0
        for session in await self._clones.find_idle():
            try:
                removed += await self._clones.remove(session, await self.transcripts.of(session))
            except ExecutorError as error:
                logger.warning("the clone of session %s stays: %s", session.id, error.message)
        return removed

    async def fork(self, by: Actor, session_id: str) -> Session:
        """A new session that knows what this one knows, where its agent can do that."""
        session = await find(self._database, by, session_id)
        check_owner(by, session)
        self.creation.admit(by, session)
        if not session.agent_session or not self._launcher.can_fork(session):
            raise Conflict(
                f"{session.agent} can't fork this session",
                hint="start a new one; `executor sessions export` has what was said",
            )
        if session.is_live:
            raise Conflict(f"session {session_id} is {session.status}", hint="wait until its task has ended")
        await self.creation.check_policies(by, START, session)
        at = now_ms()
        forked = replace(
            session, id=new_id("ses"), status="idle", parent_id=session.id, process=None, key_id="",
            created_at=at, updated_at=at, archived_at=None,
        )  # fmt: skip
        try:
            forked = await self._fork_clone(by, session, forked) if session.repository else forked
            await self._launcher.copy_memory(session, forked)

            def job(c: Connection) -> None:
                check_number(c, by)
                sessions.insert(c, forked)
                messages.copy(c, session.id, forked.id)
                data = {**started_data(forked), "parentId": session.id}
                events.append(c, by.workspace_id, "agent_session.started", data, by=by)

            await self._database.write(job)
        except BaseException:
            await self._remove_files(forked)
            raise
        return forked

    async def _fork_clone(self, by: Actor, session: Session, forked: Session) -> Session:
        """With a clone of its own, whose base is the same."""
        session = await self._clones.ensure(session, await self.transcripts.of(session))
        await self._clones.check_room()
        async with self.checkouts.lock(session.id):
            made = await self.checkouts.fork(session, forked.id, by)
        return replace(forked, cwd=made.folder, branch=made.branch, set_up_at=None, removed_at=None, snapshot="")

    async def _remove_files(self, session: Session) -> None:
        if session.unix_user:
            await remove_files(session.unix_user, session.id)
        await asyncio.to_thread(shutil.rmtree, self._folders.sessions / session.id, True)

    # -- the daemon's life --------------------------------------------------------------------------------------------

    async def recover(self) -> int:
        """What an earlier daemon left: its processes are ended, its tasks are interrupted, and what was queued runs."""
        left = await self._database.read(sessions.list_unfinished)
        for session in left:
            await end_credentials(self._database, session.workspace_id, session.id, session.key_id)
            if session.process is not None:
                await self._end_left(session.id, session.process)
            await self._interrupt(session)
        return len(left)

    async def _end_left(self, session_id: str, left: Process) -> None:
        """A process that can't be ended, such as one that hangs in the kernel, must not keep the daemon from starting:
        its token and its key are void by now."""
        try:
            await process.end(left)
            await process.clean_up(self._folders.agent_of(session_id))
        except SessionFailed as error:
            logger.error("session %s: %s", session_id, error.message)

    async def _interrupt(self, session: Session) -> None:
        runner = await self._runner_of(session)
        await self.permissions.cancel(session, "the daemon stopped", runner.transcript)
        found = await self._database.read(lambda c: tasks.of_session(c, session.id, statuses=("running", "waiting")))
        failure = {"code": "interrupted", "message": "the daemon stopped", "hint": "send a prompt to continue"}

        def job(c: Connection) -> Session | None:
            for task in found:
                tasks.change(c, task.id, status="interrupted", finished_at=now_ms(), failure=failure)
                data = {"sessionId": session.id, "taskId": task.id, "status": "interrupted", "failure": failure}
                events.append(c, session.workspace_id, "agent_session.task_ended", data)
            queued = tasks.of_session(c, session.id, statuses=("queued",))
            status = "stopped" if session.status == "stopped" else "queued" if queued else "idle"
            return sessions.change(c, session.id, status=status, process=None)

        drafts = [task_record(task, "interrupted", failure=failure) for task in found]
        changed = await runner.transcript.record(drafts, job)
        if changed is not None and changed.status == "queued" and not await self._end_if_revoked(changed):
            runner.wake()

    async def close(self) -> None:
        """The daemon stops: tasks that run are interrupted, and no process is left."""
        await self.terminals.close()
        closing = (runner.close("the daemon stopped", "interrupted") for runner in self._runners.values())
        for outcome in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(outcome, Exception):
                logger.error("a session could not be closed: %s", outcome)
        await self._launcher.prepared.close()

    async def _end_process(self, session: Session) -> bool:
        return await (await self._runner_of(session)).release("its directory is replaced")

    async def _runner_of(self, session: Session) -> Runner:
        """Always the same one, as long as anyone holds it: what stops a session must reach what runs it."""
        transcript = await self.transcripts.of(session)
        runner = self._runners.get(session.id)
        if runner is None:
            runner = self._runners[session.id] = Runner(self._parts, transcript)
        return runner

    def _show(self, changed: Session | None, session_id: str) -> Session:
        """To everyone who follows it."""
        if changed is None:
            raise NotFound(f"there is no session {session_id!r}", hint="see `executor sessions list`")
        self.transcripts.show(changed)
        return changed
