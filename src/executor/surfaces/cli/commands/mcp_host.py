from __future__ import annotations

import asyncio
import ipaddress
import os
import shlex
import shutil
import socket
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import click

from executor.errors import InvalidRequest, PortTaken, SourceUnreachable
from executor.settings import Settings, bracket_host
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import Number, json_option
from executor.surfaces.cli.output import clean, emit_json, program, say

PORT = 8790
TOKEN_FILE = "mcp-host.token"  # noqa: S105 - a name
HELP = f"""{COMMANDS["mcp-host"]}

COMMAND is an MCP server that speaks over standard input and output. Each client gets a process of its own, which ends
with its session. The command gets PATH, HOME, LANG and what --env names, and nothing else of the environment.

Runs in the foreground until it is stopped (SIGTERM or Ctrl-C).

Example: executor mcp-host --port 8790 --env GITHUB_TOKEN -- npx -y some-mcp-server --flag
"""


@click.command(
    "mcp-host",
    help=HELP,
    short_help=COMMANDS["mcp-host"],
    context_settings={"allow_interspersed_args": False},
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 picks a free one.")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"File with the token that clients send; created if missing. Default: {TOKEN_FILE} in the data directory.",
)
@click.option("--no-token", is_flag=True, help="Let every program on this machine in. Only on a loopback address.")
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME", help="A host name that clients use; can be repeated."
)
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME",
    help="Pass this variable to the command. If it is not set here, its value is one line of standard input.",
)
@click.option(
    "--max-sessions", type=click.IntRange(1, 10_000), default=32, show_default=True, help="Processes at the same time."
)
@click.option(
    "--idle",
    type=Number(1, 31_536_000),
    default=900,
    show_default=True,
    metavar="SECONDS",
    help="End a session that was not used for so long and has no stream open.",
)
@click.option("--no-check", is_flag=True, help="Don't start the command once to see whether it answers.")
@json_option
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    host: str,
    port: int,
    token_file: Path | None,
    no_token: bool,
    names: tuple[str, ...],
    variables: tuple[str, ...],
    max_sessions: int,
    idle: float,
    no_check: bool,
    as_json: bool,
    words: tuple[str, ...],
) -> int:
    from executor.sources.mcp.transports.endpoint import of_command
    from executor.surfaces.mcp.host.guard import Access
    from executor.surfaces.mcp.host.host import HostLimits, McpHost
    from executor.surfaces.mcp.host.server import serve

    if no_token and not is_loopback(host):
        raise InvalidRequest(
            f"--no-token needs a loopback address, and {host} can be reached from elsewhere",
            hint="leave out --no-token, or use --host 127.0.0.1",
        )
    check_found(words[0])
    endpoint = of_command(words, {"env": read_variables(variables)})
    path, token = (None, None) if no_token else load_token(token_file)
    served = McpHost(endpoint, HostLimits(max_sessions, idle), lambda line: say(clean(line)))
    with bind(host, port) as listener:
        address = f"http://{bracket_host(host)}:{listener.getsockname()[1]}/mcp"
        ready = partial(announce, address, path, as_json=as_json)
        asyncio.run(serve(served, listener, Access(host, token, names), ready, check=not no_check))
    return exit_codes.COMPLETED


def bind(host: str, port: int) -> socket.socket:
    from executor.daemon.server import port as ports

    try:
        return ports.bind(host, port)
    except PortTaken as error:
        message = error.message.partition(", which")[0]
        raise PortTaken(message, hint="choose another one with --port; 0 picks a free one", port=port) from error


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def check_found(word: str) -> None:
    """Before anything else, so that a typo is answered at once."""
    if shutil.which(word) is None:
        raise SourceUnreachable(
            f"the command `{clean(word)}` was not found", hint="check the spelling and PATH, or use its full path"
        )


def read_variables(names: tuple[str, ...]) -> dict[str, str | None]:
    """None for what is set here. Values are never arguments: those are seen by everyone on the machine."""
    from executor.surfaces.cli.prompts.secret_input import inputs

    for name in names:
        if "=" in name:
            raise InvalidRequest(
                "--env takes a name and no value: everyone on this machine can read arguments",
                hint=f"set the variable, then pass `--env {clean(name.partition('=')[0])}`",
            )
    missing = [name for name in dict.fromkeys(names) if name not in os.environ]
    given = inputs([{"name": name, "label": name} for name in missing]) if missing else {}
    return {name: given.get(name) for name in names}


def load_token(file: Path | None) -> tuple[Path, str]:
    from executor.daemon import data_files
    from executor.identity.local_tokens import HOST_PREFIX, load_or_create

    if file is None:
        settings = Settings.load()
        data_files.prepare(settings)
        file = settings.data_dir / TOKEN_FILE
    return file, load_or_create(file, HOST_PREFIX)


def announce(address: str, token_file: Path | None, server: str, *, as_json: bool) -> None:
    """The token itself is in its file and nowhere else: what is printed ends up in logs."""
    if as_json:
        emit_json({"address": address, "tokenFile": None if token_file is None else str(token_file), "server": server})
    say(f"serving {server or 'the command'} on {address}")
    add = f"`{program()} sources add {address} --kind mcp"
    if token_file is None:
        say(f"every program on this machine can use it. To connect it: {add}`")
    else:
        say(f"to connect it: {add} --bearer < {shlex.quote(str(token_file))}`")
    if is_wildcard(urlsplit(address).hostname or ""):
        say("from another machine, use an address of this one there; a name needs --allow-host")
