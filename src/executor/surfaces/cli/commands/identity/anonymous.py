from __future__ import annotations

import click

from executor.errors import InvalidRequest
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.commands.identity.keys import print_end
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import emit_page

COLUMNS = {
    "id": "ID",
    "createdAt": "SINCE",
    "lastSeenAt": "LAST SEEN",
    "executions": "EXECUTIONS",
    "live": "LIVE",
    "browser": "BROWSER",
    "bytes": "BYTES",
}


command = group("anonymous")


@command.command("list")
def listing(as_json: bool) -> None:
    """List anonymous sessions with what each has run and stored."""
    emit_page(connect().get("/v1/anonymous"), COLUMNS, as_json)


@command.command("clear")
@click.argument("session_id", metavar="ID", required=False)
@click.option("--all", "everything", is_flag=True, help="End all sessions.")
def clear(session_id: str | None, everything: bool, as_json: bool) -> None:
    """End an anonymous session and delete everything it stored."""
    if (session_id is not None) == everything:
        raise InvalidRequest("pass one session, or --all", hint="see `executor anonymous list`")
    path = f"/v1/anonymous/{segment(session_id)}" if session_id is not None else "/v1/anonymous"
    connect().delete(path)
    print_end("cleared", session_id or "all", as_json)
