from __future__ import annotations

import click

from executor.settings import Settings
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.commands.daemon.up import accept, load_surfaces, restored_option
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option

HELP = f"""{COMMANDS["serve"]}

Runs in the foreground until it is stopped (SIGTERM or Ctrl-C). Any number of these can share a database, each with
a data directory of its own that has the same operator.token, agent.token and secret.key. With
EXECUTOR_SERVER_AUTO_EXECUTE=true it also runs code.

Example: EXECUTOR_DATABASE_URL=postgresql://executor@db.example/executor executor serve
"""


@click.command("serve", help=HELP, short_help=COMMANDS["serve"])
@restored_option
@json_option
def command(restored: bool, as_json: bool) -> int:
    from executor.daemon.main import serve
    from executor.daemon.startup_report import TerminalReport

    settings = Settings.load()
    if restored:
        accept(settings)
    serve(settings, load_surfaces, TerminalReport(), "serve")
    return exit_codes.COMPLETED
