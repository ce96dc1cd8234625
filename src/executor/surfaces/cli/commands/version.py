from __future__ import annotations

import click

from executor import __version__
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import emit_result


@click.command("version", help=COMMANDS["version"])
@json_option
def command(as_json: bool) -> None:
    emit_result({"version": __version__}, __version__, as_json)
