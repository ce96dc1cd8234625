"""The two tools, whoever speaks the protocol: their arguments checked, and their outcome as a tool result."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from executor.errors import ExecutorError, InvalidRequest
from executor.execution.submissions import checked_key
from executor.surfaces.mcp.answer import result_of, result_of_error, result_of_list
from executor.surfaces.mcp.handshake import HANDSHAKE_VERSIONS, IDEMPOTENCY_KEYS
from executor.surfaces.mcp.offer import TOOLS
from executor.surfaces.views import View

logger = logging.getLogger(__name__)
SCHEMAS: dict[str, dict[str, Any]] = {tool["name"]: tool["inputSchema"] for tool in TOOLS}


class Gateway(Protocol):
    """Where executions happen: in this process, or in the daemon behind `/v1`."""

    async def execute(self, code: str, language: str | None, key: str = "") -> View: ...

    async def resume(self, execution_id: str) -> View: ...

    async def instructions(self) -> str:
        """They name what is connected, as far as this agent may see it."""
        ...

    async def latest(self) -> list[View]:
        """Of this agent: what is unfinished, and what ended lately, each newest first."""
        ...


async def call(
    gateway: Gateway,
    name: str,
    arguments: dict[str, Any],
    meta: Mapping[str, Any] = MappingProxyType({}),
    version: str | None = None,
) -> dict[str, Any]:
    """What goes wrong on purpose is a tool result the model can act on; the rest is an id that the log explains.

    `meta` may name the submission by one of IDEMPOTENCY_KEYS; `version` is the revision that the client speaks.
    """
    has_sounds = version != HANDSHAKE_VERSIONS[0]
    try:
        checked = _checked(arguments, SCHEMAS[name])
        if name == "execute":
            view = await gateway.execute(checked["code"], checked.get("language") or None, _key(meta))
            return result_of(view, has_sounds=has_sounds)
        if execution_id := checked.get("executionId"):
            return result_of(await gateway.resume(execution_id), has_sounds=has_sounds)
        return result_of_list(await gateway.latest())
    except ExecutorError as error:
        return result_of_error(error)
    except Exception as error:  # the edge: answered with an opaque id, logged with everything
        incident = secrets.token_hex(8)
        logger.error("unexpected error %s", incident, exc_info=error)
        hint = "the daemon's log has the details under this id"
        return result_of_error(ExecutorError(f"something went wrong here (incident {incident})", hint=hint))


def _key(meta: Mapping[str, Any]) -> str:
    keys = {checked_key(meta[name]) for name in IDEMPOTENCY_KEYS if name in meta}
    if len(keys) > 1:
        raise InvalidRequest("`_meta` has two idempotency keys", hint=f"send {IDEMPOTENCY_KEYS[0]} alone")
    return keys.pop() if keys else ""


def _checked(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, str]:
    """Those of the schema alone: clients add arguments of their own, and send null for what they leave out."""
    expected = f"the arguments are {', '.join(schema['properties'])}"
    given = {key: arguments[key] for key in schema["properties"] if arguments.get(key) is not None}
    for key, value in given.items():
        if not isinstance(value, str):
            raise InvalidRequest(f"`{key}` must be a string", hint=expected)
    for key in schema.get("required", ()):
        if key not in given:
            raise InvalidRequest(f"`{key}` is missing", hint=expected)
    return given
