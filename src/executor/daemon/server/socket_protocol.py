"""WebSocket connections, among those of HTTP. Imported for the first one."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from executor.daemon.server.http_protocol import ABORT


class Answering:
    """As a request that has come and is being answered: what looks after connections then looks at its output."""

    response_complete = False
    more_body = False


class SocketProtocol(WebSocketsSansIOProtocol):
    cycle = Answering()
    timeout_keep_alive_task = None
    is_answering = True
    waiting_since = 0.0

    def handle_connect(self, event: Any) -> None:
        self.app_state = {**self.app_state, ABORT: self.transport.abort}
        super().handle_connect(event)
