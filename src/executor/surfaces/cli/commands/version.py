from __future__ import annotations

import click

from executor import __version__
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import emit, emit_json


@click.command("version", help=COMMANDS["version"])
@json_option
def command(as_json: bool) -> None:
    if as_json:
        emit_json({"version": __version__})
    else:
        emit(__version__)
