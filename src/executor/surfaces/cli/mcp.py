from __future__ import annotations

import click

from executor.settings import Settings
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option


@click.command("mcp", help=COMMANDS["mcp"])
@json_option
def command(as_json: bool) -> None:
    """Standard output belongs to the protocol, which is JSON already; `--json` changes nothing."""
    settings = Settings.load()
    from executor.surfaces.mcp.stdio import main

    main(settings)
