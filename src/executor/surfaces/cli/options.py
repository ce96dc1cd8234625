"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object on standard output.")


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help=JSON.help)(command)


def limit_option(default: int) -> Callable[[Command], Command]:
    return click.option(
        "--limit", type=click.IntRange(1, 500), default=default, show_default=True, help="Maximum number of entries."
    )
