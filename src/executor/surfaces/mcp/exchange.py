"""What nearly every client of the handshake revisions sends, answered in one exchange.

The SDK takes a second to import, and then opens a transport, a dispatcher and three tasks for every request, which
costs as much as running the code. These few messages have one possible answer each, so they need none of it. Whatever
is not exactly one of them is left to the SDK, and the tests hold both to the same answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import orjson
from starlette.responses import Response

from executor import __version__
from executor.surfaces.mcp.calls import SCHEMAS, Gateway, call
from executor.surfaces.mcp.offer import INSTRUCTIONS, NAME, TOOLS

VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
INITIALIZED: Final = "notifications/initialized"
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})

Params = dict[str, Any]
Answering = Callable[[Gateway, Params], Awaitable[Params]]


def is_plain(message: Any, version: str | None, accept: str) -> bool:
    """`version` is what the header says; the handshake itself comes before there is one."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or not message.keys() <= _MEMBERS:
        return False
    if "application/json" not in accept and "*/*" not in accept:
        return False
    method, params = message.get("method"), message.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict) or method not in _SHAPES:
        return False
    if version not in VERSIONS and not (version is None and method in ("initialize", INITIALIZED)):
        return False
    is_whole = "id" not in message if method == INITIALIZED else type(message.get("id")) in (str, int)
    return is_whole and _SHAPES[method](params)


async def answer(gateway: Gateway, message: dict[str, Any]) -> Response:
    """To a message that `is_plain`."""
    if message["method"] == INITIALIZED:
        return Response(status_code=202, media_type="application/json")
    result = await _ANSWERS[message["method"]](gateway, message.get("params", {}))
    return Response(
        orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), media_type="application/json"
    )


def _is_handshake(params: Params) -> bool:
    about, able = params.get("clientInfo"), params.get("capabilities")
    return (
        params.keys() == {"protocolVersion", "capabilities", "clientInfo"}
        and params["protocolVersion"] in VERSIONS
        and isinstance(able, dict)
        and all(isinstance(ability, dict) for ability in able.values())
        and isinstance(about, dict)
        and isinstance(about.get("name"), str)
        and isinstance(about.get("version"), str)
    )


def _is_call(params: Params) -> bool:
    meta = params.get("_meta", {})
    return (
        params.keys() <= {"name", "arguments", "_meta"}
        and isinstance(params.get("name"), str)
        and params["name"] in SCHEMAS
        and isinstance(params.get("arguments"), dict)
        and isinstance(meta, dict)
        and all(key == "progressToken" and type(value) in (str, int) for key, value in meta.items())
    )


def _is_empty(params: Params) -> bool:
    return not params


async def _initialize(gateway: Gateway, params: Params) -> Params:
    return {
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": NAME, "version": __version__},
        "instructions": INSTRUCTIONS,
    }


async def _call(gateway: Gateway, params: Params) -> Params:
    result = await call(gateway, params["name"], params["arguments"])
    del result["resultType"]  # of the newer revision
    return result


async def _list(gateway: Gateway, params: Params) -> Params:
    return {"tools": TOOLS}


async def _ping(gateway: Gateway, params: Params) -> Params:
    return {}


_SHAPES: dict[str, Callable[[Params], bool]] = {
    "initialize": _is_handshake,
    INITIALIZED: _is_empty,
    "tools/call": _is_call,
    "tools/list": _is_empty,
    "ping": _is_empty,
}
_ANSWERS: dict[str, Answering] = {"initialize": _initialize, "tools/call": _call, "tools/list": _list, "ping": _ping}
