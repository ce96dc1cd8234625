from __future__ import annotations

import click

from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option


@click.command("resume", help=f"{COMMANDS['resume']} It never approves anything.")
@click.option(
    "--execution-id", required=True, metavar="ID", help="Execution ID, as printed by `call` or `executions list`."
)
@click.option("--no-open", is_flag=True, help="Don't prompt in the terminal when a decision is needed.")
@json_option
def command(execution_id: str, no_open: bool, as_json: bool) -> int:
    from executor.surfaces.cli.client import connect
    from executor.surfaces.cli.follow import ExecutionFollower

    follower = ExecutionFollower(connect(), as_json=as_json, ask=not no_open)
    return follower.finish(follower.resume(execution_id))
