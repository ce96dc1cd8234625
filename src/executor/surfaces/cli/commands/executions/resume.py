from __future__ import annotations

import click

from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option


@click.command("resume", help=f"{COMMANDS['resume']} It never approves anything.")
@click.argument("execution", metavar="[ID]", required=False)
@click.option("--execution-id", metavar="ID", help="The same as ID, as printed by `call` or `executions list`.")
@click.option("--no-open", is_flag=True, help="When a decision is needed, neither prompt here nor open a browser.")
@json_option
def command(execution: str | None, execution_id: str | None, no_open: bool, as_json: bool) -> int:
    chosen = execution or execution_id
    if not chosen or (execution and execution_id and execution != execution_id):
        raise click.UsageError("pass the ID of one execution, or --execution-id: `executions list` shows them")
    from executor.surfaces.cli.client import connect
    from executor.surfaces.cli.follow import ExecutionFollower

    follower = ExecutionFollower(connect(), as_json=as_json, ask=not no_open)
    return follower.finish(follower.resume(chosen))
