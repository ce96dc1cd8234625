from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from executor.daemon import control
from executor.errors import DataDirectoryLocked, ExecutorError
from executor.settings import Settings
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import emit, emit_json, say

if TYPE_CHECKING:
    from executor.daemon.http_server import Surfaces


@click.command("up", help=COMMANDS["up"])
@click.option("--foreground", is_flag=True, help="Run in the foreground until stopped, for supervisors.")
@click.option("--new", is_flag=True, help="Start with an empty database if the old one is gone. Never overwrites one.")
@click.option("--restored", is_flag=True, help="Accept a database that is older or from another installation.")
@click.option("--report-to", type=int, hidden=True, help="Report progress on this inherited file descriptor.")
@json_option
def command(foreground: bool, new: bool, restored: bool, report_to: int | None, as_json: bool) -> int:
    settings = Settings.load()
    if new or restored:
        _accept(settings, new=new)
    if foreground:
        return _serve(settings, report_to)
    already = control.find(settings) is not None
    running = control.ensure(settings, progress=lambda text: say(f"{text} …"))
    if as_json:
        emit_json({"pid": running.pid, "address": running.base_url, "version": running.version, "started": not already})
    else:
        emit(f"{'already running' if already else 'running'} on {running.base_url} (process {running.pid})")
    return exit_codes.COMPLETED


def _accept(settings: Settings, *, new: bool) -> None:
    from executor.daemon import data_files, installation

    data_files.prepare(settings)
    installation.begin(settings) if new else installation.accept(settings)


def _serve(settings: Settings, report_to: int | None) -> int:
    from executor.daemon.main import serve
    from executor.daemon.startup_report import PipeReport, TerminalReport

    if report_to is None:
        serve(settings, load_surfaces, TerminalReport())
        return exit_codes.COMPLETED
    try:
        serve(settings, load_surfaces, PipeReport(report_to))
    except DataDirectoryLocked:
        return exit_codes.COMPLETED  # another one won; anyone who started us waits for that one
    except ExecutorError as error:
        return exit_codes.of_error(error)  # reported through the pipe
    return exit_codes.COMPLETED


def load_surfaces() -> Callable[[Settings], Surfaces]:
    from executor.identity.local_tokens import Tokens
    from executor.surfaces.app import App

    return lambda settings: App(settings, Tokens.load_or_create(settings.data_dir))
