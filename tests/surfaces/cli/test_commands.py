"""What the CLI is before it does anything: its commands, their documentation, their speed, their errors."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.main import COMMANDS, cli
from tests.surfaces.cli.conftest import Cli

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text()
HEAVY = ("pydantic", "httpx2", "asyncio", "rich", "sqlalchemy", "orjson", "fastapi", "uvicorn", "mcp", "alembic")
WATCH = f"""
import sys
from executor.surfaces.cli.main import run
code = run(sys.argv[1:])
print("HEAVY", *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def every_command() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        yield from commands_in(name, command)


def commands_in(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    for sub, inner in command.commands.items():
        yield from commands_in(f"{name} {sub}", inner)


ALL = dict(every_command())


def heavy_modules(arguments: list[str], cli: Cli) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", WATCH, *arguments],
        capture_output=True,
        text=True,
        env=cli.environment,
        check=False,
    )
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("HEAVY")]
    return line.split()[1:]


def test_help_and_status_import_nothing_heavy(cli: Cli) -> None:
    assert heavy_modules(["--help"], cli) == []
    assert heavy_modules(["status"], cli) == []
    assert heavy_modules(["call", "--help"], cli) == []


def test_commands_that_ask_a_running_daemon_import_nothing_heavy(shared: Cli) -> None:
    assert heavy_modules(["status", "--json"], shared) == []
    assert heavy_modules(["call", "return 1"], shared) == []
    assert heavy_modules(["executions", "list"], shared) == []


@pytest.mark.parametrize("name", ALL)
def test_every_command_and_option_is_documented(name: str) -> None:
    _, *after = re.split(rf"`executor {name}(?=[ `])", PAGE, maxsplit=1)
    assert after
    for parameter in ALL[name].params:
        if isinstance(parameter, click.Option) and not parameter.hidden and parameter.name != "as_json":
            assert parameter.opts[0] in after[0][:4000], f"{parameter.opts[0]} of {name}"


@pytest.mark.parametrize("name", ALL)
def test_every_command_takes_json(name: str) -> None:
    assert any("--json" in parameter.opts for parameter in ALL[name].params)


def test_no_documented_command_is_missing() -> None:
    documented = set(re.findall(r"^(?:### |- )`executor ([a-z-]+(?: (?:keys )?[a-z-]+)?)", PAGE, re.MULTILINE))
    groups = {name.split()[0] for name in ALL if " " in name}
    assert documented - groups == set(ALL)


def test_the_list_of_commands_says_what_each_command_says_of_itself() -> None:
    context = click.Context(cli)
    for name, text in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None
        assert (command.help or "").startswith(text)


def test_every_exit_code_is_documented() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, re.MULTILINE))
    assert rows == {str(code): meaning for code, meaning in exit_codes.MEANINGS.items()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["stauts"], "Did you mean 'status'?"),
        (["approvals", "aprove"], "Did you mean 'approve'?"),
        (["call", "--jsn"], "--json"),
        (["resume"], "--execution-id"),
        (["policies", "add", "a.b", "permit"], "require_approval"),
        ([], "Usage"),
    ],
)
def test_what_can_not_be_understood_is_a_usage_error_with_a_suggestion(
    cli: Cli, arguments: list[str], said: str
) -> None:
    done = cli(*arguments)
    assert done.code == exit_codes.USAGE
    assert done.out == ""
    assert said in done.err


def test_with_json_a_usage_error_is_an_object_too(cli: Cli) -> None:
    error = cli("approvals", "aprove", "--json").json["error"]
    assert error["code"] == "usage"
    assert set(error) == {"code", "message", "hint"}


def test_version_is_printed(cli: Cli) -> None:
    assert cli("version").out == cli("--version").out
    assert cli("version", "--json").json == {"version": cli("version").out.strip()}


def test_a_bad_setting_is_a_usage_error(cli: Cli) -> None:
    done = cli("status", EXECUTOR_PORT="many")
    assert done.code == exit_codes.USAGE
    assert "EXECUTOR_PORT" in done.err


@pytest.mark.parametrize("text", ["nan", "inf"])
def test_no_option_takes_what_is_not_an_amount(text: str) -> None:
    numbers = [
        (name, option.type)
        for name, command in every_command()
        for option in command.params
        if isinstance(option.type, click.FloatRange) or option.type is click.FLOAT
    ]
    assert len(numbers) >= 3
    for name, kind in numbers:
        with pytest.raises(click.BadParameter):
            pytest.fail(f"{name}: {kind.convert(text, None, None)}")
