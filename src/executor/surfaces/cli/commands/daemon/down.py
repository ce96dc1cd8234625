from __future__ import annotations

import click

from executor.daemon import control
from executor.settings import Settings
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import emit, emit_json


@click.command("down", help=COMMANDS["down"])
@json_option
def command(as_json: bool) -> None:
    """Stopping what does not run is no error: afterwards it does not run."""
    settings = Settings.load()
    pid = control.stop(settings)
    if as_json:
        emit_json({"stopped": pid is not None, "pid": pid})
    else:
        emit("no daemon was running" if pid is None else f"stopped (process {pid})")
