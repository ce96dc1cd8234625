"""The entry: finds the command, runs it, and turns every way it can end into an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import click

from executor import __version__
from executor.errors import ExecutorError
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.options import JSON
from executor.surfaces.cli.output import emit_json, error_object, program, say, show_error

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class SuggestingGroup(click.Group):
    """Suggests what was probably meant."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Each command takes `--json`, without saying so itself."""
        cmd.params.append(JSON)
        super().add_command(cmd, name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if not ctx.resilient_parsing and args and args[0] not in names and not args[0].startswith("-"):
            raise click.UsageError(f"No such command {args[0]!r}.{_suggestion(args[0], names)}", ctx)
        return super().resolve_command(ctx, args)


def _suggestion(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1)
    return f" Did you mean {near[0]!r}?" if near else f" The commands are: {', '.join(names)}."


# A command's module is imported when it is used; the help of all of them is printed from here.
COMMANDS = {
    "up": "Start the daemon.",
    "down": "Stop the daemon; running work is parked.",
    "serve": "Serve the API, MCP and the web UI on PostgreSQL; workers run the code.",
    "worker": "Run code that other processes on the same PostgreSQL database accept.",
    "status": "Show whether the daemon is running and what is connected.",
    "doctor": "Check this installation and suggest fixes.",
    "db": "Migrate, check and copy the database.",
    "demo": "Try Executor end to end with a sample API.",
    "call": "Run code that calls tools.",
    "check": "Check code against the connected tools.",
    "resume": "Wait for a paused execution and show its outcome.",
    "approvals": "List and decide pending approvals.",
    "executions": "List, show, cancel and check executions.",
    "artifacts": "List, show, download and delete large results.",
    "sources": "Connect and manage sources: APIs, GraphQL and MCP servers.",
    "connections": "Manage the credentials of sources.",
    "secrets": "Store and rotate secrets (write-only).",
    "sessions": "Run coding agents in isolated processes.",
    "tools": "Find tools and read their signatures.",
    "policies": "Manage policies: allow, require approval or deny.",
    "toolkits": "Manage toolkits: parts of the catalog with keys and an address of their own.",
    "config": "Check, compare and apply a file of sources, policies and more.",
    "webhooks": "Send signed messages to other services when something happens.",
    "audit": "Show, verify and export the audit log.",
    "web": "Open the web UI, signed in.",
    "login": "Sign in with a browser, using a one-time link.",
    "connect": "Connect an MCP client: find its configuration, change it, check it.",
    "keys": "Manage API keys.",
    "agents": "Manage agents and their tokens.",
    "anonymous": "Manage sessions of anonymous agents.",
    "workspaces": "List, create and rename workspaces.",
    "organizations": "List, create and rename organizations.",
    "members": "Manage members and their roles.",
    "limits": "Limit what workspaces and actors run, queue and submit.",
    "invitations": "Invite people to the organization.",
    "runtime": "Run a sandbox host for a daemon on another machine.",
    "session-host": "Run the executor process of one agent session, until it is shut down.",
    "mcp": "Serve MCP over standard input and output.",
    "mcp-host": "Serve an MCP server that is a command over HTTP, for daemons on other machines.",
    "completion": "Print a script that completes commands, options and names in your shell.",
    "version": "Print the version.",
}
# The folder that a command's module is in. The others are beside these folders.
FOLDERS = {
    "daemon": ("up", "down", "serve", "worker", "status", "doctor", "db", "runtime", "session-host"),
    "executions": ("call", "check", "resume", "approvals", "executions", "artifacts"),
    "catalog": ("sources", "tools"),
    "sessions": ("sessions",),
    "credentials": ("connections", "secrets"),
    "identity": (
        "login",
        "keys",
        "agents",
        "anonymous",
        "workspaces",
        "organizations",
        "members",
        "invitations",
        "limits",
    ),
}
COMPLETE = "_EXECUTOR_COMPLETE"  # how the script of `executor completion` asks
CALL_SHAPED = ("call", "resume")


class LazyGroup(SuggestingGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        folder = next((f".{name}" for name, commands in FOLDERS.items() if cmd_name in commands), "")
        command: click.Command = import_module(
            f"executor.surfaces.cli.commands{folder}.{cmd_name.replace('-', '_')}"
        ).command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Without importing each of them."""
        from click.shell_completion import CompletionItem

        commands = [CompletionItem(name, help=about) for name, about in COMMANDS.items() if name.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(version)s")
def cli() -> None:
    """Run code that agents write, and decide what it may do.

    Results go to standard output, everything else to standard error.
    """


def group(name: str) -> SuggestingGroup:
    """The group that a command's module adds its commands to."""
    return SuggestingGroup(name, help=COMMANDS[name])


def add_group(outer: click.Group, inner: click.Group) -> None:
    """A group inside a group: the commands in it take `--json`, and not the group itself."""
    click.Group.add_command(outer, inner)


def run(arguments: Sequence[str]) -> int:
    machine = "--json" in _before_dashes(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = _complete(wanted) if (wanted := os.environ.get(COMPLETE)) else _invoke(arguments, machine=machine)
        sys.stdout.flush()
    except BrokenPipeError:
        # Anyone who read our output has left; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = exit_codes.FAILED
    return code


def _complete(instruction: str) -> int:
    from executor.surfaces.cli.completion import answer

    return answer(cli, instruction)


def _invoke(arguments: Sequence[str], *, machine: bool) -> int:
    try:
        code = cli.main(list(arguments), prog_name=program(), standalone_mode=False)
        return code if isinstance(code, int) else exit_codes.COMPLETED
    except click.ClickException as error:
        return _usage(error, arguments, machine=machine)
    except ExecutorError as error:
        show_error(error)
        if machine:
            emit_json(_failure_body(error_object(error), arguments))
        return exit_codes.of_error(error)
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        if machine:
            emit_json(_failure_body({"code": "interrupted", "message": "interrupted", "hint": ""}, arguments))
        return exit_codes.INTERRUPTED


def _usage(error: click.ClickException, arguments: Sequence[str], *, machine: bool) -> int:
    error.show(sys.stderr)
    if machine:
        failure = {"code": "usage", "message": error.format_message(), "hint": f"see `{program()} --help`"}
        emit_json(_failure_body(failure, arguments))
    return exit_codes.USAGE


def _failure_body(error: dict[str, Any], arguments: Sequence[str]) -> dict[str, Any]:
    """`call` and `resume` always print the same shape, so that a reader needs no second way."""
    if next((word for word in arguments if not word.startswith("-")), "") not in CALL_SHAPED:
        return {"error": error}
    return {"executionId": None, "status": "failed", "result": None, "error": error, "interactions": [], "logs": []}


def _before_dashes(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: list(arguments).index("--")] if "--" in arguments else arguments
