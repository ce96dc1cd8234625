"""An agent that runs: its processes, the ports by which it reaches the model and `/mcp`, and the conversation."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import deque
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from executor.errors import AgentUnavailable
from executor.sessions.agents.agent import Access, Agent, Start
from executor.sessions.agents.conversation import Ask, Conversation, McpEndpoint, Report
from executor.sessions.agents.installation import locate
from executor.sessions.agents.records import ToolCall
from executor.sessions.host.daemon_link import DaemonLink
from executor.sessions.isolation.place import Place, Requirements
from executor.sessions.isolation.process import Ending, Process
from executor.sessions.isolation.relays import Relays, Target
from executor.sessions.isolation.unix_user import python_for
from executor.sessions.protocol.channel import PipeChannel
from executor.sessions.protocol.host_settings import HostSettings
from executor.sessions.protocol.messages import PermissionMode

KEPT_LINES = 20


class RunningAgent:
    def __init__(self, agent: Agent, place: Place, relays: Relays) -> None:
        self.agent, self.place = agent, place
        self._relays = relays
        self._errors: deque[str] = deque(maxlen=KEPT_LINES)
        self._mcp_name = f"executor_{secrets.token_hex(4)}"  # a name that no file in the working directory can take
        self._tail: asyncio.Task[None] | None = None
        self.process: Process
        self.conversation: Conversation

    @property
    def is_alive(self) -> bool:
        return not self.process.ending.done() and not self.conversation.peer.is_closed

    @property
    def last_words(self) -> str:
        return self._errors[-1] if self._errors else ""

    def is_ours(self, tool: ToolCall) -> bool:
        """A tool of our own `/mcp`, where the same policies and approvals decide."""
        return tool.server == self._mcp_name

    @classmethod
    async def start(
        cls, agent: Agent, settings: HostSettings, cwd: str, mode: PermissionMode, link: DaemonLink,
        report: Report, ask: Ask, resume: str | None,
    ) -> RunningAgent:  # fmt: skip
        place = make_place(agent, settings, cwd)
        key = await link.get_api_key(agent.service) if agent.service else None
        relays = place.make_relays(targets_of(settings))
        running = cls(agent, place, relays)
        try:
            await relays.prepare()
            api_key = key["api_key"] if key else ""
            access = Access(api_key, running._origin(key["base_url"] if key else ""), settings.get("model") or "")
            await running._launch(settings, Start(access, mode, place.home, running._mcp_name), report, ask)
            await running._open(settings, cwd, access, mode, resume)
        except BaseException:
            await running.stop(0)
            raise
        return running

    async def stop(self, grace: float) -> tuple[Literal["terminated", "killed"], Ending]:
        """Nothing of it is left afterwards; `Ending.absent` says whether that was verified."""
        how: Literal["terminated", "killed"] = "killed"
        ending = Ending(None, "", True)
        if hasattr(self, "conversation"):
            self.conversation.peer.close("stopped")
        if hasattr(self, "process"):
            how, ending = await self.process.stop(grace)
        await self._relays.close()
        if self._tail:
            self._tail.cancel()
        return how, ending

    async def _launch(self, settings: HostSettings, start: Start, report: Report, ask: Ask) -> None:
        found = locate(self.agent, settings.get("agents_directory", ""))
        command = [python_for(self.place.user) if part == "{python}" else part for part in found.command]
        self.place.write_files(self.agent.files(start))
        from_us, to_agent = os.pipe()
        from_agent, to_us = os.pipe()
        errors, to_errors = os.pipe()
        ours, theirs = (to_agent, from_agent, errors), (from_us, to_us, to_errors)
        try:
            self.process = await self.place.start(command, self.agent.environment(start), theirs, self._relays)
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self.conversation = Conversation(PipeChannel(from_agent, to_agent), self.agent, report, ask)
        self._tail = asyncio.create_task(self._keep_errors(errors))

    async def _open(
        self, settings: HostSettings, cwd: str, access: Access, mode: PermissionMode, resume: str | None
    ) -> None:
        start = Start(access, mode, self.place.home, self._mcp_name)
        try:
            await self.conversation.open(self.place.cwd, self._mcp(settings), self.agent.meta(start), resume)
            await self.conversation.set_mode(mode)
        except AgentUnavailable as error:
            if self.last_words:
                error.message = f"{error.message}: {self.last_words}"
            raise

    def _origin(self, base_url: str) -> str:
        """Where the agent finds the model's proxy: at a relay, or as the daemon says."""
        if "model" in self._relays.ports:
            return self._relays.origin("model")
        return base_url.rstrip("/").removesuffix("/v1")

    def _mcp(self, settings: HostSettings) -> McpEndpoint | None:
        server = settings.get("mcp")
        if server is None or (is_sandbox(settings) and "mcp" not in self._relays.ports):
            return None
        path = urlsplit(server["url"]).path
        url = f"{self._relays.origin('mcp')}{path}" if "mcp" in self._relays.ports else server["url"]
        return McpEndpoint(self._mcp_name, url, server["token"])

    async def _keep_errors(self, descriptor: int) -> None:
        """The last lines that the agent wrote to its standard error, for when it fails."""
        reader = asyncio.StreamReader(limit=2**20)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
        )
        try:
            while data := await reader.read(65536):
                lines = data.decode(errors="replace").splitlines()
                self._errors.extend(line.strip()[:500] for line in lines[-KEPT_LINES:] if line.strip())
        finally:
            transport.close()


def make_place(agent: Agent, settings: HostSettings, cwd: str) -> Place:
    found = locate(agent, settings.get("agents_directory", ""))
    needs = Requirements(
        readable=found.readable,
        masked=agent.masked,
        loaded=agent.loaded,
        path=found.path,
        nested_namespaces=agent.nested_namespaces,
        managed_files=dict(agent.managed_files),
    )
    return Place(settings["isolation"], cwd, Path(settings["state_directory"]), needs, settings.get("hidden", []))


def is_sandbox(settings: HostSettings) -> bool:
    return settings["isolation"]["mode"] == "sandbox"


def targets_of(settings: HostSettings) -> dict[str, Target]:
    """What is reached through a relay: sockets, each of which serves one thing. Outside a sandbox, an agent reaches
    `/mcp` at its address."""
    found = {
        name: Target(path)
        for name, path in (("model", settings.get("model_socket")), ("egress", settings.get("egress_socket")))
        if path
    }
    if is_sandbox(settings) and "mcp" in settings and (path := settings.get("mcp_socket")):
        found["mcp"] = Target(path, urlsplit(settings["mcp"]["url"]).port or 0)
    return found
