"""The conversation with an agent over the Agent Client Protocol (ACP), version 1.

ACP is JSON-RPC on standard input and output, so it runs over the same peer as the rest. Only what a session needs is
spoken, and what an agent says beyond it is tolerated. The agent gets no files and no terminals of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from executor import __version__
from executor.errors import AgentUnavailable
from executor.sessions.agents.agent import RANKS, Agent
from executor.sessions.agents.options import choose_option, outcome
from executor.sessions.agents.records import Reader, Record, ToolCall
from executor.sessions.protocol.channel import Channel
from executor.sessions.protocol.lines import RpcError
from executor.sessions.protocol.messages import PermissionMode
from executor.sessions.protocol.peer import ConnectionClosed, Peer

VERSION = 1
MAX_LINE = 64 * 2**20
START_SECONDS = 120.0
MODE_SECONDS = 30.0
NOTICE_SECONDS = 5.0  # for an agent to say that its mode has changed, after it agreed to change it

Report = Callable[[Record], Awaitable[None]]
Ask = Callable[[ToolCall], Awaitable[bool]]


@dataclass(frozen=True)
class McpEndpoint:
    name: str
    url: str
    token: str = field(repr=False)


class Conversation:
    """`report` gets every record in order; `ask` decides a permission request. Both are the session's."""

    def __init__(self, channel: Channel, agent: Agent, report: Report, ask: Ask) -> None:
        self._agent, self._report, self._ask = agent, report, ask
        handlers = {
            "session/update": self._update,
            "session/request_permission": self._request_permission,
            "elicitation/create": lambda _: {"action": "decline"},
        }
        self.peer = Peer(channel, handlers, max_line=MAX_LINE, lenient=True)
        self.reader = Reader()
        self.session = ""
        self.resumed = False
        self._capabilities: dict[str, Any] = {}
        self._mode, self._allowed_rank = "", 0
        self._mode_changed = asyncio.Event()
        self._replaying = False
        self._requests: set[asyncio.Future[bool]] = set()
        self._cancelled = False
        self.failure = ""  # why the agent has to be ended

    # -- start ----------------------------------------------------------------

    async def open(self, cwd: str, mcp: McpEndpoint | None, meta: dict[str, Any], resume: str | None) -> None:
        """Raises AgentUnavailable if the agent does not come up."""
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._initialize()
                await self._open_session(cwd, self._servers(mcp), meta, resume)
        except TimeoutError:
            raise AgentUnavailable(f"{self._agent.title} did not start within {START_SECONDS:g} s") from None
        except RpcError as error:
            raise AgentUnavailable(f"{self._agent.title} refused to start: {error.message[:500]}") from None
        except ConnectionClosed as error:
            raise AgentUnavailable(f"{self._agent.title} ended while starting ({error.reason})") from None

    async def _initialize(self) -> None:
        answer = await self.peer.call(
            "initialize",
            {
                "protocolVersion": VERSION,
                "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
                "clientInfo": {"name": "executor", "version": __version__},
            },
        )
        if not isinstance(answer, dict) or answer.get("protocolVersion") != VERSION:
            raise AgentUnavailable(f"{self._agent.title} does not speak version {VERSION} of ACP")
        self._capabilities = answer.get("agentCapabilities") or {}
        if self._agent.auth_method:
            await self.peer.call("authenticate", {"methodId": self._agent.auth_method})

    def _servers(self, mcp: McpEndpoint | None) -> list[dict[str, Any]]:
        if mcp is None:
            return []
        if not (self._capabilities.get("mcpCapabilities") or {}).get("http"):
            raise AgentUnavailable(f"{self._agent.title} can't use MCP servers over HTTP")
        headers = [{"name": "Authorization", "value": f"Bearer {mcp.token}"}]
        return [{"type": "http", "name": mcp.name, "url": mcp.url, "headers": headers}]

    async def _open_session(
        self, cwd: str, servers: list[dict[str, Any]], meta: dict[str, Any], resume: str | None
    ) -> None:
        params = {"cwd": cwd, "mcpServers": servers, **({"_meta": meta} if meta else {})}
        answer = await self._continue_session(params, resume) if resume else None
        if answer is not None and resume:
            self.session, self.resumed = resume, True
        else:
            answer = await self.peer.call("session/new", params)
            self.session = str(answer.get("sessionId") or "")
        self._options = answer.get("configOptions") or []
        self._mode = _mode_of(answer)
        if not self.session:
            raise AgentUnavailable(f"{self._agent.title} opened no session")

    async def _continue_session(self, params: dict[str, Any], resume: str) -> dict[str, Any] | None:
        """None if the agent can't, or no longer knows the session. What it replays is in our transcript already."""
        method = self._method_to_continue()
        if not method:
            return None
        self._replaying = True
        try:
            answer = await self.peer.call(method, {**params, "sessionId": resume})
        except RpcError:
            return None
        finally:
            self._replaying = False
            self.reader = Reader()
        return answer if isinstance(answer, dict) else {}

    def _method_to_continue(self) -> str:
        if self._agent.continues == "never":
            return ""
        if self._agent.continues == "resume" and "resume" in (self._capabilities.get("sessionCapabilities") or {}):
            return "session/resume"
        return "session/load" if self._capabilities.get("loadSession") else ""

    # -- modes ----------------------------------------------------------------

    async def set_mode(self, mode: PermissionMode) -> None:
        """Sets the mode and reads it back: a working directory's settings may have chosen another."""
        wanted = self._agent.modes.get(mode)
        if wanted is None:
            raise AgentUnavailable(
                f"{self._agent.title} has no mode for {mode!r}", hint="choose another permission mode"
            )
        self._allowed_rank = max(RANKS[mode], RANKS["default"])
        if self._mode != wanted:
            try:
                async with asyncio.timeout(MODE_SECONDS):
                    await self._change_mode(wanted)
            except (TimeoutError, RpcError):
                pass  # what counts is what it says it is in
        if self._mode != wanted:
            raise AgentUnavailable(
                f"{self._agent.title} is in mode {self._mode or 'unknown'!r} instead of {wanted!r}",
                hint="the session was not started; look for settings of the agent in the working directory",
            )

    async def _change_mode(self, wanted: str) -> None:
        option = next((one for one in self._options if isinstance(one, dict) and one.get("category") == "mode"), None)
        if option is not None:
            params = {"sessionId": self.session, "configId": option.get("id"), "value": wanted}
            answer = await self.peer.call("session/set_config_option", params)
            self._mode = _mode_of(answer if isinstance(answer, dict) else {}) or self._mode
            return
        self._mode_changed.clear()
        await self.peer.call("session/set_mode", {"sessionId": self.session, "modeId": wanted})
        async with asyncio.timeout(NOTICE_SECONDS):
            while self._mode != wanted:
                await self._mode_changed.wait()
                self._mode_changed.clear()

    async def _note_mode(self, mode: str) -> None:
        """An agent may leave plan mode, which needs a permission; it may never take more than was asked for."""
        self._mode = mode
        self._mode_changed.set()
        rank = min((RANKS[ours] for ours, theirs in self._agent.modes.items() if theirs == mode), default=99)
        if self._allowed_rank and rank > self._allowed_rank:
            self.failure = f"{self._agent.title} switched to mode {mode!r}, which was not asked for"
            self.peer.close(self.failure)

    # -- a turn ---------------------------------------------------------------

    async def prompt(self, *texts: str) -> dict[str, Any]:
        """What the agent answers at the end of its turn. Raises RpcError or ConnectionClosed."""
        self._cancelled = False
        params = {"sessionId": self.session, "prompt": [{"type": "text", "text": text} for text in texts]}
        answer = await self.peer.call("session/prompt", params)
        return answer if isinstance(answer, dict) else {}

    async def cancel(self) -> None:
        """Every open permission request is answered as cancelled: some agents wait for that."""
        self._cancelled = True
        for request in list(self._requests):
            request.cancel()
        await self.peer.notify("session/cancel", {"sessionId": self.session})

    # -- from the agent -------------------------------------------------------

    async def _update(self, params: dict[str, Any]) -> None:
        update = params.get("update")
        if self._replaying or not isinstance(update, dict):
            return
        record = self.reader.read(update)
        if record is None:
            return
        if record.kind == "mode":
            await self._note_mode(record.data["mode"])
        elif record.kind == "options":
            self._options = record.data["options"]
            if changed := _mode_of({"configOptions": self._options}):
                await self._note_mode(changed)
        await self._report(record)

    async def _request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        """Anything that goes wrong is a no."""
        given, options = params.get("toolCall"), params.get("options")
        if self._cancelled or not isinstance(given, dict):
            return outcome(None)
        tool = self.reader.tool(str(given.get("toolCallId") or "")[:200])
        tool.merge(given)
        request = asyncio.ensure_future(self._ask(tool))
        self._requests.add(request)
        try:
            approved = await request
        except asyncio.CancelledError:
            if not request.cancelled():
                request.cancel()
                raise
            return outcome(None)
        except (RpcError, ConnectionError, TimeoutError):
            approved = False
        finally:
            self._requests.discard(request)
        return outcome(None if self._cancelled else choose_option(options, approved=approved))


def _mode_of(answer: dict[str, Any]) -> str:
    """As a configuration option says it, or the older field."""
    for option in answer.get("configOptions") or []:
        if isinstance(option, dict) and option.get("category") == "mode":
            return str(option.get("currentValue") or "")
    modes = answer.get("modes")
    return str(modes.get("currentModeId") or "") if isinstance(modes, dict) else ""
