from __future__ import annotations

from typing import Any

import click

from executor.settings import Settings
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import Number, json_option


@click.command("call", help=f"{COMMANDS['call']} Prints the result as JSON on standard output, logs on standard error.")
@click.argument("code", required=False)
@click.option("--file", "file", metavar="PATH", help="Read the code from this file.")
@click.option("--stdin", is_flag=True, help="Read the code from standard input.")
@click.option("--language", help="typescript or python. Default: detected from the file's name or the code.")
@click.option("--runtime", metavar="ID", help="The runtime to use. Default: the one of the language.")
@click.option("--typecheck", type=click.Choice(["error", "warn", "off"]), help="What to do about type errors.")
@click.option(
    "--priority", type=click.Choice(["high", "normal", "low"]), help="Whether it goes before others that wait."
)
@click.option("--no-open", is_flag=True, help="When a decision is needed, neither prompt here nor open a browser.")
@click.option(
    "--timeout",
    type=Number(min=0.001),
    metavar="SECONDS",
    help="Limit on active time. Time spent waiting for people doesn't count.",
)
@json_option
def command(code: str | None, file: str | None, stdin: bool, no_open: bool, as_json: bool, **given: Any) -> int:
    from executor.surfaces.cli.client import connect
    from executor.surfaces.cli.follow import ExecutionFollower
    from executor.surfaces.cli.prompts.code_input import language_of, read_code

    settings = Settings.load()
    timeout = given.pop("timeout")
    request = {
        "code": read_code(code, file, stdin, settings.max_code_bytes),
        **given,
        "language": language_of(file, given["language"]),
        "timeoutMs": max(1, round(timeout * 1000)) if timeout else None,
    }
    follower = ExecutionFollower(connect(settings), as_json=as_json, ask=not no_open)
    return follower.finish(follower.run({name: value for name, value in request.items() if value}))
