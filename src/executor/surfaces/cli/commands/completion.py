from __future__ import annotations

import click

from executor.surfaces.cli.completion import SHELLS, script
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import emit_result


@click.command("completion", help=COMMANDS["completion"])
@click.argument("shell", type=click.Choice(SHELLS))
@json_option
def command(shell: str, as_json: bool) -> None:
    text = script(shell)
    emit_result({"shell": shell, "script": text}, text, as_json)
