"""What nearly every client sends, answered in one exchange.

The SDK takes a second and a quarter of the daemon's memory to import, and serves a request of the handshake revisions
with a transport, a dispatcher and three tasks. These few messages have one possible answer each, so they need none of
it. Whatever is not exactly one of them is left to the SDK, and the tests hold both to the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from starlette.responses import Response

from executor.surfaces.mcp.exposed_tools import find_exposed, list_tools, mirrors_arguments
from executor.surfaces.mcp.handshake import (
    HANDSHAKE_VERSIONS,
    META,
    MODERN_VERSION,
    OPENINGS,
    as_modern,
    opening_result,
)
from executor.surfaces.mcp.session import new_session
from executor.surfaces.mcp.streams.event_ids import DIRECT, CallPlace
from executor.surfaces.mcp.tasks.requested import refuse_task
from executor.surfaces.mcp.tasks.task import TASK_MODE
from executor.surfaces.mcp.tools import SCHEMAS, Gateway, call, call_outcome

INITIALIZED: Final = "notifications/initialized"
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_ENVELOPE = frozenset({f"{META}protocolVersion", f"{META}clientInfo", f"{META}clientCapabilities"})
_RETRY = frozenset({"requestState", "inputResponses"})

Params = dict[str, Any]


def is_plain(message: Any, headers: Mapping[str, str]) -> bool:
    """Exactly one of the known messages, from a client that reads JSON; no header contradicts it."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or not message.keys() <= _MEMBERS:
        return False
    accept = headers.get("accept", "")
    if "application/json" not in accept and "*/*" not in accept:
        return False
    method, params = message.get("method"), message.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict):
        return False
    is_whole = "id" not in message if method == INITIALIZED else type(message.get("id")) in (str, int)
    if headers.get("mcp-protocol-version") == MODERN_VERSION:
        return is_whole and _is_modern(method, params, headers)
    return is_whole and _is_of_handshake(method, params, headers.get("mcp-protocol-version"))


async def answer(gateway: Gateway, message: dict[str, Any], version: str | None) -> Response:
    """To a message that `is_plain`; `version` is the revision its header names."""
    method, params = message["method"], message.get("params", {})
    if method == INITIALIZED:
        return Response(status_code=202, media_type="application/json")
    if method == "tools/call":
        result: Params | None = await _call(gateway, params, version)
        if TASK_MODE.get() == "requested" and result is not None and "task" not in result:
            return refuse_task(message, result)
    elif method in OPENINGS:
        result = opening_result(method, params, await gateway.instructions())
    else:
        result = opening_result(method, params, tools=list_tools(), version=version)
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return Response(orjson.dumps(reply), headers=_headers(method, params), media_type="application/json")


async def answer_again(gateway: Gateway, place: CallPlace, version: str | None) -> bytes:
    """To a call whose first answer was lost: what it would be answered now."""
    if place.tool == "resume":
        result = await call(gateway, "resume", {"executionId": place.execution_id}, version=version)
    else:
        result = await call_outcome(gateway, place.execution_id, version, is_direct=place.tool == DIRECT)
    result.pop("resultType", None)
    return orjson.dumps({"jsonrpc": "2.0", "id": place.number, "result": result})


def _headers(method: str, params: Params) -> dict[str, str]:
    """A client repeats the session with every request, so that a cancellation can't mean another client's. It is kept
    nowhere, and a request without one, or with that of an earlier life, is as good."""
    return {"Mcp-Session-Id": new_session(params)} if method == "initialize" else {}


def _is_of_handshake(method: str, params: Params, version: str | None) -> bool:
    """The handshake itself comes before a version is agreed on."""
    if version not in HANDSHAKE_VERSIONS and not (version is None and method in ("initialize", INITIALIZED)):
        return False
    if method == "tools/call":
        return _is_call(params) and _is_meta(params.get("_meta", {}), frozenset())
    if method == "initialize":
        return _is_handshake(params)
    return method in (INITIALIZED, "tools/list", "ping") and not params


def _is_modern(method: str, params: Params, headers: Mapping[str, str]) -> bool:
    if headers.get("mcp-method") != method or not _is_meta(params.get("_meta"), _ENVELOPE):
        return False
    meta = params["_meta"]
    if meta[f"{META}protocolVersion"] != MODERN_VERSION or not _is_client(
        meta[f"{META}clientInfo"], meta[f"{META}clientCapabilities"]
    ):
        return False
    if method == "tools/call":
        if not _is_call(_without_retry(params)) or headers.get("mcp-name") != params["name"]:
            return False
        exposed = find_exposed(params["name"])
        return exposed is None or not mirrors_arguments(exposed)  # the SDK compares them
    return method in ("server/discover", "tools/list") and params.keys() == {"_meta"}


def _without_retry(params: Params) -> Params:
    """A client repeats a call with what it was asked for."""
    is_whole = isinstance(params.get("requestState", ""), str) and isinstance(params.get("inputResponses", {}), dict)
    return {key: value for key, value in params.items() if not is_whole or key not in _RETRY}


def _is_meta(meta: Any, expected: frozenset[str]) -> bool:
    """What is expected and nothing else of MCP's own but a token for progress. What clients add is theirs."""
    if not isinstance(meta, dict) or not expected <= meta.keys():
        return False
    if any(key.startswith(META) for key in meta.keys() - expected):
        return False
    return "progressToken" not in meta or type(meta["progressToken"]) in (str, int)


def _is_handshake(params: Params) -> bool:
    return (
        params.keys() == {"protocolVersion", "capabilities", "clientInfo"}
        and params["protocolVersion"] in HANDSHAKE_VERSIONS
        and _is_client(params["clientInfo"], params["capabilities"])
    )


def _is_client(about: Any, abilities: Any) -> bool:
    return (
        isinstance(about, dict)
        and about.keys() >= {"name", "version"}
        and all(isinstance(text, str) for text in about.values())
        and isinstance(abilities, dict)
        and all(isinstance(ability, dict) for ability in abilities.values())
    )


def _is_call(params: Params) -> bool:
    return (
        params.keys() <= {"name", "arguments", "_meta"}
        and isinstance(params.get("name"), str)
        and (params["name"] in SCHEMAS or find_exposed(params["name"]) is not None)
        and isinstance(params.get("arguments"), dict)
    )


async def _call(gateway: Gateway, params: Params, version: str | None) -> Params:
    meta = params.get("_meta", {})
    result = await call(gateway, params["name"], params["arguments"], meta, version)
    if f"{META}protocolVersion" in meta:
        return as_modern(result)
    result.pop("resultType", None)  # only of the modern revision
    return result
