from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from executor.settings import Settings, bracket_host
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import emit_json, say

if TYPE_CHECKING:
    from executor.runtime.registry import Runtimes

PORT = 8789
TOKEN_FILE = "runtime-host.token"  # noqa: S105 - a name


command = group("runtime")


@command.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 picks a free one.")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the host's token; created if missing.",
)
def serve(host: str, port: int, token_file: Path | None, as_json: bool) -> int:
    """Run as a sandbox host for a daemon on another machine, until stopped.

    A sandbox host has no database, no catalog and no secrets.
    """
    import asyncio

    from executor.daemon import data_files
    from executor.daemon.server import port as ports
    from executor.identity.local_tokens import HOST_PREFIX, load_or_create

    settings = Settings.load()
    data_files.prepare(settings)
    path = token_file or settings.data_dir / TOKEN_FILE
    token = load_or_create(path, HOST_PREFIX)
    with ports.bind(host, port) as listener:
        address = f"http://{bracket_host(host)}:{listener.getsockname()[1]}"

        def announce() -> None:
            if as_json:
                emit_json({"address": address, "tokenFile": str(path)})
            say(f"sandbox host on {address}, token in {path}")

        asyncio.run(_serve(settings, token, listener, announce))
    return exit_codes.COMPLETED


async def _serve(settings: Settings, token: str, listener: socket.socket, announce: Callable[[], None]) -> None:
    import uvicorn

    from executor.daemon.wiring.runtimes import Sandboxes
    from executor.runtime.remote.host import SandboxHost

    sandboxes = Sandboxes(replace(settings, remote_url=""))
    try:
        await sandboxes.ready()
        runtimes: Runtimes = sandboxes.runtimes
        places, layers = settings.workers * settings.slots, sandboxes.runtime.layers
        host = SandboxHost(runtimes, token=token, places=places, layers=layers)
        config = uvicorn.Config(
            host, log_config=None, log_level="warning", access_log=False, server_header=False, ws="none",
            lifespan="off", timeout_graceful_shutdown=2,
        )  # fmt: skip
        announce()
        await uvicorn.Server(config).serve(sockets=[listener])
        await host.close()
    finally:
        await sandboxes.close()
