"""Starting an executor process for a session: its token, its keys, its folder and its settings."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from executor.dataclass import dataclass
from executor.model.sessions.session import Process, Session
from executor.sessions.agents.installation import locate
from executor.sessions.agents.table import find_agent
from executor.sessions.permissions.requests import Permissions
from executor.sessions.processes import agent_keys, tokens
from executor.sessions.processes.conversation import Conversation, ModelAccess
from executor.sessions.processes.credentials import end_credentials
from executor.sessions.processes.prepared import PreparedProcesses
from executor.sessions.processes.process import ExecutorProcess
from executor.sessions.processes.tokens import Issued
from executor.sessions.protocol.host_settings import CustomAgent, HostSettings
from executor.sessions.repositories.clones import Clones
from executor.sessions.unix_users import copy_home
from executor.storage.database import Database
from executor.storage.sessions import sessions

if TYPE_CHECKING:
    from executor.sessions.tasks.runner import Runner


class ModelKeys(Protocol):
    """Where a session gets virtual keys from. `socket` is set where models are reached through one."""

    async def open(self, session: Session) -> ModelAccess: ...


@dataclass(frozen=True, slots=True)
class Folders:
    """`data` is never reachable for an agent; below `sessions` each session has a folder of its own."""

    data: Path
    sessions: Path
    agents: Path

    def of(self, session_id: str) -> Path:
        return private_folder(self.sessions / session_id)

    def agent_of(self, session_id: str) -> Path:
        """What the agent itself keeps, between its processes."""
        return private_folder(self.of(session_id) / "agent")


class Launcher:
    def __init__(
        self, database: Database, permissions: Permissions, models: ModelKeys, folders: Folders, mcp_url: str,
        configured: Mapping[str, CustomAgent], prepared: PreparedProcesses, silent_seconds: float,
        clones: Clones, open_mcp: Callable[[], Awaitable[Path]] | None,
    ) -> None:  # fmt: skip
        self._database = database
        self._permissions = permissions
        self._models = models
        self._folders = folders
        self._mcp_url = mcp_url
        self._configured = configured
        self.prepared = prepared
        self._silent_seconds = silent_seconds
        self._clones = clones
        self._open_mcp = open_mcp

    def check_agent(self, name: str) -> None:
        """Raises AgentUnavailable for one that is unknown or not installed."""
        locate(find_agent(name, self._configured), str(self._folders.agents))

    def can_fork(self, session: Session) -> bool:
        """Whether a copy of what the agent keeps is enough for it to remember; with a clone, in another directory."""
        agent = find_agent(session.agent, self._configured)
        return agent.continues != "never" and (agent.moves or not session.repository)

    async def copy_memory(self, session: Session, forked: Session) -> None:
        """What the agent of a session keeps, for that of its fork. An agent may look for it by its directory. What
        belongs to a running sandbox stays: it covers files of the other session."""
        agent = find_agent(session.agent, self._configured)
        old, new = (agent.kept_in(one.cwd) for one in (session, forked))
        if session.unix_user:
            moved = (old, new) if old != new else ("", "")
            await copy_home(session.unix_user, session.id, forked.id, moved)
            return
        source, copy = (self._folders.agent_of(one.id) for one in (session, forked))
        await asyncio.to_thread(shutil.copytree, source / "home", copy / "home", symlinks=True, dirs_exist_ok=True)
        if old != new and (copy / "home" / old).is_dir():
            (copy / "home" / old).rename(copy / "home" / new)

    async def launch(self, session: Session, runner: Runner) -> Conversation:
        mcp = await self._open_mcp() if self._open_mcp is not None and session.isolation == "sandbox" else None
        session = await self._clones.ensure(session, runner.transcript)
        issued = await tokens.issue(self._database, session)
        key, secret = await agent_keys.issue_key(self._database, session)
        try:
            models = await self._models.open(session)
        except BaseException:
            await end_credentials(self._database, session.workspace_id, session.id, key.id)
            raise
        conversation = Conversation(self._database, self._permissions, issued, models, runner, key.id)

        async def record(process: Process) -> None:
            await self._database.write(lambda c: sessions.change(c, session.id, process=process))

        try:
            settings = await self._configure(session, issued, secret, models, mcp)
            folder, prepared = self._folders.of(session.id), self.prepared.take()
            process = await ExecutorProcess.start(settings, folder, conversation.handlers, record, prepared)
        except BaseException:
            await conversation.close("it did not start")
            raise
        conversation.begin(process, self._silent_seconds)
        return conversation

    async def _configure(
        self, session: Session, issued: Issued, secret: str, models: ModelAccess, mcp: Path | None
    ) -> HostSettings:
        settings: HostSettings = {
            "token_digest": issued.digest,
            "session_id": session.id,
            "isolation": await self._clones.isolate(session),
            "state_directory": str(self._folders.agent_of(session.id)),
            "agents_directory": str(self._folders.agents),
            "mcp": {"url": self._mcp_url, "token": secret},
            "hidden": [str(self._folders.data), str(self._folders.sessions.parent)],
            "model": session.model or None,
            "agents": {name: one for name, one in self._configured.items() if name == session.agent},
        }
        if (script := self._clones.setup_of(session)) is not None:
            settings["setup"] = script
        if mcp is not None:
            settings["mcp_socket"] = str(mcp)
        if models.socket is not None:
            settings["model_socket"] = str(models.socket)
        if models.egress is not None:
            settings["egress_socket"] = str(models.egress)
        return settings


def private_folder(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
