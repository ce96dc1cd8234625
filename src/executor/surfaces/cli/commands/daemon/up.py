from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from executor.daemon import control
from executor.daemon.session_settings import read_problems
from executor.errors import DataDirectoryLocked, ExecutorError
from executor.settings import Settings
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import emit, emit_json, program, say

if TYPE_CHECKING:
    from executor.daemon.server.http_server import Surfaces

restored_option = click.option(
    "--restored", is_flag=True, help="Accept a database that is older or from another installation."
)


@click.command("up", help=COMMANDS["up"])
@click.option("--foreground", is_flag=True, help="Run in the foreground until stopped, for supervisors.")
@click.option("--new", is_flag=True, help="Start with an empty database if the old one is gone. Never overwrites one.")
@restored_option
@click.option("--report-to", type=int, hidden=True, help="Report progress on this inherited file descriptor.")
@json_option
def command(foreground: bool, new: bool, restored: bool, report_to: int | None, as_json: bool) -> int:
    settings = Settings.load()
    if new or restored:
        accept(settings, new=new)
    if report_to is None:
        for problem in read_problems(settings):
            say(f"warning: {problem.place}: {problem.message}; {problem.hint}")
    if foreground:
        return _serve(settings, report_to)
    already = control.find(settings) is not None
    try:
        running = control.ensure(settings, progress=lambda text: say(f"{text} …"))
    except KeyboardInterrupt:
        say(f"\ninterrupted; a daemon that is starting continues\nto stop it:\n  {program()} down")
        return exit_codes.INTERRUPTED
    if as_json:
        emit_json({"pid": running.pid, "address": running.base_url, "version": running.version, "started": not already})
    else:
        emit(f"{'already running' if already else 'running'} on {running.base_url} (process {running.pid})")
    return exit_codes.COMPLETED


def accept(settings: Settings, *, new: bool = False) -> None:
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
    from executor.identity.local_tokens import Tokens, ensure_metrics_token
    from executor.surfaces.app import App

    def create(settings: Settings) -> App:
        ensure_metrics_token(settings.metrics_token_file)
        return App(settings, Tokens.load_or_create(settings.data_dir))

    return create
