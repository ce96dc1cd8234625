from __future__ import annotations

import os
import re
from pathlib import Path

import click

from executor.daemon.local_credential import given_token
from executor.errors import InvalidRequest
from executor.settings import Settings
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option

SLUG = re.compile(r"[a-z0-9-]{1,50}")
PATH = click.Path(path_type=Path)


@click.command("mcp", help=COMMANDS["mcp"])
@click.option("--agent", metavar="NAME", help="Act as this agent, created by `executor connect --agent NAME`.")
@click.option("--toolkit", metavar="SLUG", default="", help="Offer only the tools of this toolkit.")
@click.option("--data-dir", type=PATH, help="The data directory of the daemon to connect to.")
@click.option("--state-dir", type=PATH, help="The daemon's state directory. Default: `state` in the data directory.")
@click.option("--config", type=PATH, help="The config file to start the daemon with.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to start the daemon on.")
@json_option
def command(
    agent: str | None,
    toolkit: str,
    data_dir: Path | None,
    state_dir: Path | None,
    config: Path | None,
    port: int | None,
    as_json: bool,
) -> None:
    """Standard output belongs to the protocol, which is JSON already; `--json` changes nothing."""
    if toolkit and not SLUG.fullmatch(toolkit):
        raise InvalidRequest(f"{toolkit[:80]!r} is not the slug of a toolkit", hint="see `executor toolkits list`")
    _choose_daemon(data_dir, state_dir, config, port)
    settings = Settings.load()
    token = _token(settings, agent)  # before the first message: a client that can't be anyone does not start
    from executor.surfaces.mcp.stdio import main

    main(settings, lambda: {"Authorization": f"Bearer {token or _installed_token(settings)}"}, toolkit)


def _choose_daemon(data_dir: Path | None, state_dir: Path | None, config: Path | None, port: int | None) -> None:
    """In the environment, since a daemon that must be started reads it there. A data directory named here is another
    installation than the one of the environment, so that one's directories and config file don't count."""
    if data_dir is not None:
        for name in ("EXECUTOR_STATE_DIR", "EXECUTOR_CONFIG", "EXECUTOR_PORT"):
            os.environ.pop(name, None)
    chosen = {"DATA_DIR": data_dir, "STATE_DIR": state_dir, "CONFIG": config, "PORT": port}
    os.environ.update({f"EXECUTOR_{name}": str(value) for name, value in chosen.items() if value is not None})


def _token(settings: Settings, agent: str | None) -> str:
    if agent is None:
        return given_token()
    from executor.identity.local_tokens import read_agent_token

    return read_agent_token(settings.data_dir, agent)


def _installed_token(settings: Settings) -> str:
    """Of the installation's own agent; the daemon makes it at its first start."""
    from executor.errors import DataDirectoryUnusable
    from executor.identity.local_tokens import read_token

    token = read_token(settings.agent_token_file)
    if token is None:
        hint = "run `executor down`, then `executor up`"
        raise DataDirectoryUnusable("this installation has no token for agents", hint=hint)
    return token
