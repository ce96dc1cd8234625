"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object on standard output.")


class Number(click.FloatRange):
    """Between two bounds. `nan` is within any, and `inf` is no amount of anything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return found


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help=JSON.help)(command)


def limit_option(default: int) -> Callable[[Command], Command]:
    return click.option(
        "--limit", type=click.IntRange(1, 500), default=default, show_default=True, help="Maximum number of entries."
    )
