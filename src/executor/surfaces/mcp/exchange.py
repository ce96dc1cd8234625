"""A tool call of the handshake revisions, answered in one exchange.

The SDK serves these by opening a transport, a dispatcher and three tasks for every request, which costs as much as
running the code. Newer revisions have a single-exchange road in the SDK; this takes older ones along it as well, with
the SDK's own kernel. Whatever is not a plain tool call is left to the SDK's transport.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
import orjson
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import Response

logger = logging.getLogger(__name__)
_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)


@dataclass
class OneExchange:
    """The SDK's dispatch context for a request that has nothing but its answer to send."""

    request_id: str | int
    transport: TransportContext = _TRANSPORT
    message_metadata: None = None
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        return

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        return


def is_plain_call(message: Any, version: str | None, accept: str) -> bool:
    """A complete request for `tools/call` by a client of a handshake revision that can read JSON."""
    return (
        isinstance(message, dict)
        and message.get("method") == "tools/call"
        and message.get("jsonrpc") == "2.0"
        and type(message.get("id")) in (str, int)
        and isinstance(message.get("params"), dict)
        and message.keys() == {"jsonrpc", "id", "method", "params"}
        and version in HANDSHAKE_PROTOCOL_VERSIONS
        and ("application/json" in accept or "*/*" in accept)
    )


async def answer_call(server: Server[Any], message: dict[str, Any], version: str) -> Response:
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = await serve_one(
            server,
            OneExchange(message["id"]),
            "tools/call",
            message["params"],
            connection=Connection.from_envelope(version, None, None),
            lifespan_state={},
        )
    except Exception as error:
        known = handler_exception_to_error_data(error)
        if known is None:
            logger.exception("mcp.failed")
            known = types.ErrorData(code=types.INTERNAL_ERROR, message="Internal error")
        reply["error"] = known.model_dump(mode="json", exclude_none=True)
    return Response(orjson.dumps(reply), media_type="application/json")
