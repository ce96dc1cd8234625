"""Filters that choose tools of a source, as they are written on a command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def filter_options(command: Command) -> Command:
    for name, help in (
        ("exclude", "Leave out the tools that match. Repeatable."),
        ("include", "Only tools that match: tag:issues, path:/repos/**, method:GET or a name pattern. Repeatable."),
    ):
        command = click.option(f"--{name}", multiple=True, metavar="FILTER", help=help)(command)
    return command


def filters_of(given: dict[str, Any]) -> dict[str, list[str]]:
    return {name: list(given[name]) for name in ("include", "exclude") if given.get(name)}


def chosen_from(view: dict[str, Any]) -> str:
    """`12 tools`, or `12 of 1054 tools` where some were left out."""
    count, offered = view.get("toolCount", 0), (view.get("choice") or view).get("offered")
    part = f"{count} of {offered}" if offered is not None and (offered != count or view.get("choice")) else str(count)
    return f"{part} tool{'' if part == '1' else 's'}"
