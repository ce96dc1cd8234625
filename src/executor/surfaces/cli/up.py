from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from executor.daemon import process
from executor.errors import DataDirectoryLocked, ExecutorError
from executor.settings import Settings
from executor.surfaces.cli import exits
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import emit, emit_json, say

if TYPE_CHECKING:
    from executor.daemon.listening import Surfaces


@click.command("up", help=COMMANDS["up"])
@click.option("--foreground", is_flag=True, help="Stay in this process until stopped, for supervisors.")
@click.option("--new", is_flag=True, help="The database is gone: begin with an empty one. Never overwrites one.")
@click.option("--restored", is_flag=True, help="Accept a database that is older, or of another installation.")
@click.option("--report-to", type=int, hidden=True, help="Tell progress on this inherited descriptor.")
@json_option
def command(foreground: bool, new: bool, restored: bool, report_to: int | None, as_json: bool) -> int:
    settings = Settings.load()
    if new or restored:
        _accept(settings, new=new)
    if foreground:
        return _serve(settings, report_to)
    already = process.find(settings) is not None
    running = process.ensure(settings, progress=lambda text: say(f"{text} …"))
    if as_json:
        emit_json({"pid": running.pid, "address": running.base_url, "version": running.version, "started": not already})
    else:
        emit(f"{'already running' if already else 'running'} on {running.base_url} (process {running.pid})")
    return exits.COMPLETED


def _accept(settings: Settings, *, new: bool) -> None:
    from executor.daemon import files, installation

    files.prepare(settings)
    installation.begin(settings) if new else installation.accept(settings)


def _serve(settings: Settings, report_to: int | None) -> int:
    from executor.daemon.report import PipeReport, TerminalReport
    from executor.daemon.server import serve

    if report_to is None:
        serve(settings, load_surfaces, TerminalReport())
        return exits.COMPLETED
    try:
        serve(settings, load_surfaces, PipeReport(report_to))
    except DataDirectoryLocked:
        return exits.COMPLETED  # another one won; whoever started us waits for that one
    except ExecutorError as error:
        return exits.of_error(error)  # told through the pipe
    return exits.COMPLETED


def load_surfaces() -> Callable[[Settings], Surfaces]:
    from executor.identity.tokens import Tokens
    from executor.surfaces.front import Front

    return lambda settings: Front(settings, Tokens.load_or_create(settings.data_dir))
