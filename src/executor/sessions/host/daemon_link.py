"""What the executor process says to the daemon. Each message carries the session's token; without a daemon, the answer
to every permission request is no."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from executor.sessions.agents.options import policy_name
from executor.sessions.agents.records import Record, ToolCall
from executor.sessions.protocol.lines import RpcError
from executor.sessions.protocol.messages import ApiKey
from executor.sessions.protocol.peer import ConnectionClosed, Peer

KEY_SECONDS = 60.0


def timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class DaemonLink:
    def __init__(self, peer: Peer, token: str) -> None:
        self.peer = peer
        self._token = token
        self._sequence = 0

    async def get_api_key(self, service: str) -> ApiKey:
        params = {"session_token": self._token, "service": service}
        answer: ApiKey = await self.peer.call("get_api_key", params, timeout=KEY_SECONDS)
        return answer

    async def request_permission(self, task_id: str, tool: ToolCall, cwd: str) -> bool:
        """Whether it is allowed. Never raises, so that what goes wrong is a no."""
        params = {
            "session_token": self._token,
            "task_id": task_id,
            "tool_name": policy_name(tool),
            "tool_input": tool.input,
            "tool_call_id": tool.id,
            "title": tool.title,
            "cwd": cwd,
            "diffs": tool.diffs,
        }
        try:
            answer = await self.peer.call("request_permission", params)
        except (RpcError, ConnectionClosed):
            return False
        return isinstance(answer, dict) and answer.get("approved") is True

    async def report(self, task_id: str, record: Record) -> None:
        self._sequence += 1
        params = {
            "session_token": self._token,
            "task_id": task_id,
            "sequence": self._sequence,
            "timestamp": timestamp(),
            "event_type": record.kind,
            "event_data": record.data,
        }
        await self._notify("report_message", params)

    async def report_progress(self, task_id: str, state: str, detail: str = "") -> None:
        params = {"session_token": self._token, "task_id": task_id, "state": state, "detail": detail}
        await self._notify("report_progress", params)

    async def report_error(self, task_id: str, code: str, message: str, hint: str = "") -> None:
        params = {"session_token": self._token, "task_id": task_id, "code": code, "message": message, "hint": hint}
        await self._notify("report_error", params)

    async def terminal_ended(self, terminal_id: str, code: int | None) -> None:
        params = {"session_token": self._token, "terminal_id": terminal_id, "code": code}
        await self._notify("terminal_ended", params)

    async def _notify(self, method: str, params: dict[str, Any]) -> None:
        try:
            await self.peer.notify(method, params)
        except ConnectionClosed:
            return  # the process ends when its daemon is gone
