from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from executor.settings import Settings
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.commands.daemon.up import accept, restored_option
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option

if TYPE_CHECKING:
    from executor.daemon.server.http_server import Surfaces

HELP = f"""{COMMANDS["worker"]}

Runs in the foreground until it is stopped (SIGTERM or Ctrl-C): then it takes nothing more, waits up to
EXECUTOR_DRAIN_SECONDS for calls that were sent, and leaves the rest to other workers. It answers only /healthz and
/readyz, at EXECUTOR_PORT.

Example: EXECUTOR_DATABASE_URL=postgresql://executor@db.example/executor EXECUTOR_PORT=0 executor worker
"""


@click.command("worker", help=HELP, short_help=COMMANDS["worker"])
@restored_option
@json_option
def command(restored: bool, as_json: bool) -> int:
    from executor.daemon.main import serve
    from executor.daemon.startup_report import TerminalReport

    settings = Settings.load()
    if restored:
        accept(settings)
    serve(settings, load_health, TerminalReport(), "worker")
    return exit_codes.COMPLETED


def load_health() -> Callable[[Settings], Surfaces]:
    from executor.surfaces.http.health import HealthApp

    return lambda settings: HealthApp()
