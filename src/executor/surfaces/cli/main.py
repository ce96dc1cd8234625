"""The entry: finds the command, runs it, and turns every way it can end into an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from executor import __version__
from executor.errors import ExecutorError
from executor.surfaces.cli import exits
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.output import emit_json, error_object, program, say, show_error

# A command's module is imported when it is used; the help of all of them is printed from here.
COMMANDS = {
    "up": "Start the daemon.",
    "down": "Stop the daemon; running work is parked.",
    "status": "Show whether the daemon runs, and what it has.",
    "doctor": "Check this installation and say what to do.",
    "demo": "Show the main job end to end with a sample API.",
    "call": "Run code that calls tools.",
    "check": "Check code against the connected tools.",
    "resume": "Wait for an execution to go on, and show its outcome.",
    "approvals": "List, show and decide what waits for a person.",
    "executions": "List, show, cancel and check executions.",
    "artifacts": "Large results that are kept: list, show, get, delete.",
    "sources": "Connect APIs and look after them.",
    "connections": "Credentials wired to sources.",
    "secrets": "Values that nothing shows again.",
    "tools": "Find tools and read their signatures.",
    "policies": "Rules that allow, ask or deny.",
    "audit": "Who did what, and whether the record is whole.",
    "web": "Open the web UI, signed in.",
    "login": "Sign in with a browser, by a link that works once.",
    "connect": "Connect an MCP client: print what it needs.",
    "keys": "Keys for programs that act for you.",
    "agents": "Agents with tokens of their own.",
    "anonymous": "Agents that came without a credential, and what they keep.",
    "workspaces": "List, make and name workspaces.",
    "organizations": "List, make and name organizations.",
    "members": "Who belongs to the organization, with which role.",
    "invitations": "Links that make somebody a member.",
    "runtime": "Serve sandboxes to a daemon elsewhere.",
    "mcp": "Speak MCP over standard input and output.",
    "version": "Print the version.",
}
CALL_SHAPED = ("call", "resume")


class LazyGroup(SuggestingGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"executor.surfaces.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(version)s")
def cli() -> None:
    """Executor runs code that agents write, and lets a person decide what it may do.

    Results go to standard output, everything else to standard error.
    """


def run(arguments: Sequence[str]) -> int:
    machine = "--json" in _before_dashes(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = _invoke(arguments, machine=machine)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = exits.FAILED
    return code


def _invoke(arguments: Sequence[str], *, machine: bool) -> int:
    try:
        code = cli.main(list(arguments), prog_name=program(), standalone_mode=False)
        return code if isinstance(code, int) else exits.COMPLETED
    except click.ClickException as error:
        return _usage(error, arguments, machine=machine)
    except ExecutorError as error:
        show_error(error)
        if machine:
            emit_json(_failed(error_object(error), arguments))
        return exits.of_error(error)
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        if machine:
            emit_json(_failed({"code": "interrupted", "message": "interrupted", "hint": ""}, arguments))
        return exits.INTERRUPTED


def _usage(error: click.ClickException, arguments: Sequence[str], *, machine: bool) -> int:
    error.show(sys.stderr)
    if machine:
        told = {"code": "usage", "message": error.format_message(), "hint": f"see `{program()} --help`"}
        emit_json(_failed(told, arguments))
    return exits.USAGE


def _failed(error: dict[str, Any], arguments: Sequence[str]) -> dict[str, Any]:
    """`call` and `resume` always print the same shape, so that a reader needs no second way."""
    if next((word for word in arguments if not word.startswith("-")), "") not in CALL_SHAPED:
        return {"error": error}
    return {"executionId": None, "status": "failed", "result": None, "error": error, "interactions": [], "logs": []}


def _before_dashes(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: list(arguments).index("--")] if "--" in arguments else arguments
