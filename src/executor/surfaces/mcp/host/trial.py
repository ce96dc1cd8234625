"""Starts the command once before anything is served, so that a mistake shows at once and not to the first client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import orjson

from executor import __version__
from executor.errors import SourceUnreachable
from executor.sources.mcp.sessions.allowance import Allowance
from executor.sources.mcp.transports.endpoint import Endpoint, printable
from executor.sources.mcp.transports.stdio import Child, start_command
from executor.surfaces.mcp.host.error_output import ErrorOutput
from executor.surfaces.mcp.host.message import INITIALIZE, read_json, read_message
from executor.surfaces.mcp.host.session import MAX_LINE, describe_end

SECONDS = 120.0  # as for a source: a package runner may have to download first
REVISION = "2025-11-25"


async def try_command(endpoint: Endpoint, report: Callable[[str], None]) -> str:
    """The name and version that the server says. Raises SourceUnreachable if it does not answer `initialize`."""
    heard = ErrorOutput(lambda line: report(f"[check] {line}"))
    async with start_command(
        endpoint, limit=MAX_LINE, allowance=Allowance(MAX_LINE), log_file=None, hear=heard.hear
    ) as child:
        try:
            async with asyncio.timeout(SECONDS):
                return await initialize(child, endpoint.display_name)
        except TimeoutError as error:
            raise refusal(f"{endpoint.display_name} did not answer within {SECONDS:.0f} seconds") from error


async def initialize(child: Child, where: str) -> str:
    client = {"name": "executor mcp-host", "version": __version__}
    params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client}
    request = {"jsonrpc": "2.0", "id": 0, "method": INITIALIZE, "params": params}
    try:
        await child.write_line(orjson.dumps(request) + b"\n")
    except SourceUnreachable:
        raise refusal(await describe_end(child, where)) from None
    while line := await child.read_line():
        message = read_message(line)
        if message is not None and message.is_response and message.id == 0:
            return describe(line)
    raise refusal(await describe_end(child, where))


def describe(line: bytes) -> str:
    answer = read_json(line)
    if "error" in answer:
        said = answer["error"].get("message") if isinstance(answer["error"], dict) else answer["error"]
        raise refusal(f"the server refuses to start: {printable(str(said), 300)}")
    result = answer.get("result")
    about = result.get("serverInfo") if isinstance(result, dict) else None
    known = about if isinstance(about, dict) else {}
    return printable(" ".join(str(known[name]) for name in ("name", "version") if name in known)) or "a server"


def refusal(text: str) -> SourceUnreachable:
    return SourceUnreachable(
        text,
        hint="run the command in a terminal: it must speak MCP on standard input and output; --env passes variables",
    )
