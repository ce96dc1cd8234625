from __future__ import annotations

from pathlib import Path

import click

from executor.surfaces.cli.options import json_option


@click.command("session-host")
@click.option(
    "--socket",
    "socket_path",
    required=True,
    type=click.Path(path_type=Path),
    help="Unix socket to create and listen on. Only you can connect to it; it is removed at the end.",
)
@click.option(
    "--settings-fd",
    type=click.IntRange(min=0),
    help="Descriptor to read the session's settings from, as one line of JSON. Without it, only `ping` is answered.",
)
@json_option
def command(socket_path: Path, settings_fd: int | None, as_json: bool) -> int:
    """Run the executor process of one agent session, until it is shut down.

    The daemon starts it and talks to it in JSON-RPC 2.0, one message a line.
    """
    from executor.sessions.host.main import run

    return run(socket_path, settings_fd)
