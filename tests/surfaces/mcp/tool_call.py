"""A tool call on a connection of its own, which a test can cancel or close while it is under way."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from executor.surfaces.mcp.open_calls import OpenCalls
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.test_malformed_requests import ACCEPT

SESSION = {"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": "one"}


class SentCall:
    """Sent, and not yet answered."""

    def __init__(
        self,
        daemon: Daemon,
        name: str,
        arguments: dict[str, Any],
        *,
        number: Any = 7,
        role: str = "agent",
        meta: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        **members: Any,
    ) -> None:
        params = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params, **members}
        token = {"Authorization": f"Bearer {getattr(daemon.tokens, role, role)}", "Content-Type": "application/json"}
        self._connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
        sent = {**token, **ACCEPT, **SESSION, **(headers or {})}
        self._connection.request("POST", "/mcp", json.dumps(message).encode(), sent)

    def answer(self) -> Any:
        """Its result; of a stream, the last message's."""
        return self.messages()[-1]["result"]

    def messages(self) -> list[Any]:
        with self.response() as response:
            body = response.read().decode()
        if response.headers["content-type"].startswith("application/json"):
            return [json.loads(body)]
        data = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
        return [json.loads(one) for one in data if one]  # an empty one only names a place in the stream

    @contextmanager
    def response(self) -> Iterator[http.client.HTTPResponse]:
        with closing(self._connection):
            yield self._connection.getresponse()

    def close(self) -> None:
        assert self._connection.sock is not None
        self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def cancel(daemon: Daemon, number: Any = 7, role: str = "agent", session: str = "one", **params: Any) -> int:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number, **params}}
    headers = {**ACCEPT, **SESSION, "Mcp-Session-Id": session}
    return daemon.post("/mcp", message, role=role, headers=headers).status


def execution_with(daemon: Daemon, mark: str, status: str = "running") -> str:
    """The id of the one whose code has `mark` in it, once it has this status."""

    def look() -> str:
        items = daemon.get(f"/v1/executions?text={mark}&status={status}").json["items"]
        return str(items[0]["executionId"]) if items else ""

    return str(wait_for(look))


def status_of(daemon: Daemon, execution_id: str) -> str:
    return str(daemon.get(f"/v1/executions/{execution_id}").json["status"])


def open_calls(daemon: Daemon) -> OpenCalls:
    return daemon.front._mcp.result()._calls


def is_left_alone(daemon: Daemon, execution_id: str) -> bool:
    """A call waits for it, and no cancellation of it has begun. That begins before its notification is answered."""
    waiting = [call for calls in open_calls(daemon)._calls.values() for call in calls]
    return [call.cancelling for call in waiting if call._execution_id == execution_id] == [None]
