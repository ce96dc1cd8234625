"""Times as people write them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from executor.errors import InvalidRequest

WAYS = "2026-11-15, 2026-11-15T09:00, or 30m, 12h, 7d ago"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AGO = re.compile(r"(\d{1,6})([smhd])")
Command = TypeVar("Command", bound=Callable[..., Any])


def range_options(command: Command) -> Command:
    """`--since` and `--until`, in milliseconds."""
    since, until = f"Only entries since this time: {WAYS}.", "Only entries before this time (same format as --since)."
    command = click.option("--until", metavar="TIME", callback=milliseconds, help=until)(command)
    return click.option("--since", metavar="TIME", callback=milliseconds, help=since)(command)


def milliseconds(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    if not text:
        return None
    if ago := _AGO.fullmatch(text):
        return int((time.time() - int(ago[1]) * SECONDS[ago[2]]) * 1000)
    try:
        return max(0, int(datetime.fromisoformat(text).timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(
            f"--{option.name} {text!r} is not a time", hint="for example: 2026-11-15 or 12h"
        ) from error
