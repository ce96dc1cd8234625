"""`executor mcp`: the same two tools over standard input and output, carried to the daemon with the agent's token.

Standard output belongs to the protocol; the SDK keeps everything else away from it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
from typing import Any

import httpx2
from mcp.server.stdio import stdio_server

from executor.daemon import process
from executor.daemon.process import DaemonUnreachable
from executor.errors import DataDirectoryUnusable, ExecutorError
from executor.identity.tokens import read_token
from executor.settings import Settings
from executor.surfaces.mcp.gateway import WAIT_SECONDS
from executor.surfaces.mcp.server import build_server
from executor.surfaces.views import View

ANSWER_SECONDS = WAIT_SECONDS + 30.0


class Refused(ExecutorError):
    """A problem the daemon answered with; `code` is the daemon's."""

    def __init__(self, problem: dict[str, Any], status: int) -> None:
        standard = ("type", "title", "status", "detail", "code", "hint")
        details = {key: value for key, value in problem.items() if key not in standard}
        message = str(problem.get("detail") or f"the daemon answered with status {status}")
        super().__init__(message, hint=str(problem.get("hint", "")), **details)
        self.code = str(problem.get("code", "internal"))  # type: ignore[misc]  # this one's code is not its own


class DaemonGateway:
    """Executions in the daemon. One that died meanwhile is started again, and asked again: a submission has a key, so
    that it is never a second execution."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: httpx2.AsyncClient | None = None

    async def execute(self, code: str, language: str | None, key: str = "") -> View:
        body = {"code": code, "language": language, "wait": WAIT_SECONDS, "result": "preview"}
        return await self._ask("/v1/executions", body, {"Idempotency-Key": key or secrets.token_hex(16)})

    async def resume(self, execution_id: str) -> View:
        body = {"wait": WAIT_SECONDS, "result": "preview"}
        return await self._ask(f"/v1/executions/{_segment(execution_id)}/resume", body, {})

    async def latest(self) -> list[View]:
        client = await self._connected()
        found = (await client.get("/v1/executions?limit=10")).json()
        return list(found["items"])

    async def _ask(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> View:
        try:
            return await self._post(await self._connected(), path, body, headers)
        except DaemonUnreachable:
            return await self._post(await self._reconnected(), path, body, headers)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _connected(self) -> httpx2.AsyncClient:
        return self._client or await self._reconnected()

    async def _reconnected(self) -> httpx2.AsyncClient:
        await self.close()
        running = await asyncio.to_thread(self._ensure)
        token = read_token(self._settings.agent_token_file)
        if token is None:
            raise DataDirectoryUnusable(
                "this installation has no token for agents", hint="run `executor down`, then `executor up`"
            )
        headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx2.AsyncClient(
            base_url=running.base_url, headers=headers, timeout=ANSWER_SECONDS, trust_env=False
        )
        return self._client

    def _ensure(self) -> process.Running:
        """An agent need not know where this installation keeps its files: its user reads that on standard error."""
        try:
            return process.ensure(self._settings, _say)
        except ExecutorError as error:
            _say(f"{error.message}; {error.hint}")
            hint = "tell the user: `executor doctor` says why"
            raise DaemonUnreachable("Executor can't be started on this machine", hint=hint) from error

    async def _post(self, client: httpx2.AsyncClient, path: str, body: dict[str, Any], headers: dict[str, str]) -> View:
        try:
            response = await client.post(path, json=body, headers=headers)
        except httpx2.TransportError as error:
            raise DaemonUnreachable(
                f"the daemon went away: {type(error).__name__}",
                hint="`executor executions list` shows whether the code was started; it goes on by itself",
            ) from error
        answered = response.json()
        if response.is_error:
            raise Refused(answered, response.status_code)
        view: View = answered
        return view


def main(settings: Settings) -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    gateway = DaemonGateway(settings)
    server = build_server(gateway)
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await gateway.close()


def _segment(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
