"""`executor sources choose`: which of a source's tools exist here."""

from __future__ import annotations

from typing import Any

import click

from executor.errors import InvalidRequest
from executor.surfaces.cli.client import Client, Refused, connect, segment
from executor.surfaces.cli.filters import chosen_from, filter_options, filters_of
from executor.surfaces.cli.output import clean, emit, emit_json, interactive, program, say

LOAD_SECONDS = 300.0
SHOWN = 20


@click.command("choose")
@click.argument("source", metavar="NAMESPACE")
@filter_options
@click.option("--everything", is_flag=True, help="Keep all tools again.")
@click.option("--preview", is_flag=True, help="Show which tools would be added and removed, without changing anything.")
@click.option("--yes", is_flag=True, help="Remove tools even if policies or pending calls depend on them.")
def choose(source: str, everything: bool, preview: bool, yes: bool, as_json: bool, **given: Any) -> None:
    """Choose which of a source's tools to keep. The new filters replace the old ones.

    FILTER is tag:NAME, path:PATTERN, method:NAME or a pattern of tool names. With several --include, a tool needs to
    match only one of them. Tools that are left out can't be found, described or called.
    """
    filters = filters_of(given)
    if bool(filters) == everything:
        hint = f"see `{program()} sources choose --help`; `{program()} sources preview` lists what can be chosen"
        raise InvalidRequest("pass filters or --everything", hint=hint)
    client = connect()
    body = {**filters, "preview": preview, "drop": yes}
    answer = _put_choice(client, source, body)
    if as_json:
        emit_json(answer)
        return
    emit(f"{'would choose' if preview else 'chose'} {chosen_from(answer)} of {clean(answer['namespace'])}")
    show_paths(answer)


def _put_choice(client: Client, source: str, body: dict[str, Any]) -> dict[str, Any]:
    """What depends on tools that would go is shown first; without a clear yes nothing changes."""
    path = f"/v1/sources/{segment(source)}/choice"
    try:
        return dict(client.follow(path, body, progress=_progress, seconds=LOAD_SECONDS, method="PUT"))
    except Refused as error:
        lost = error.details.get("dependents")
        if not lost or not interactive():
            raise
    for one in lost:
        say(f"this depends on a tool that would be removed: {clean(one)}")
    if not click.confirm("remove these tools?", err=True):
        raise InvalidRequest("nothing was changed", hint="answer y, or pass --yes")
    return dict(client.follow(path, {**body, "drop": True}, progress=_progress, seconds=LOAD_SECONDS, method="PUT"))


def show_paths(source: dict[str, Any]) -> None:
    for sign, field in (("+", "added"), ("-", "removed"), ("~", "changed")):
        paths = source.get(field) or ()
        for path in paths[:SHOWN]:
            emit(f"{sign} {clean(path)}")
        if len(paths) > SHOWN:
            emit(f"{sign} … and {len(paths) - SHOWN} more")


def _progress(text: str) -> None:
    say(f"{clean(text)} …")
