from __future__ import annotations

from typing import Any

import click

from executor.settings import Settings
from executor.surfaces.cli.browser import hand_out
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit_page, emit_result


@click.command("login", help=COMMANDS["login"])
@click.option("--member", metavar="ID", default="", help="Sign in to this account instead of your own (owners only).")
@click.option("--no-open", is_flag=True, help="Print the link instead of opening a browser.")
@click.option("--list", "listing", is_flag=True, help="List the browsers that are signed in.")
@click.option("--end", metavar="ID", help="Sign this browser out.")
@json_option
def command(member: str, no_open: bool, listing: bool, end: str | None, as_json: bool) -> None:
    if listing:
        _list(as_json)
    elif end is not None:
        _end(end, as_json)
    else:
        settings = Settings.load()
        link = connect(settings).post("/v1/auth/links", {"accountId": member} if member else {})
        hand_out(settings, link, as_json=as_json, may_open=not no_open and not member)


def _list(as_json: bool) -> None:
    page: Any = connect().get("/v1/auth/sessions")
    columns = {"id": "ID", "createdAt": "SINCE", "lastSeenAt": "LAST SEEN", "agent": "BROWSER"}
    emit_page(page, columns, as_json, empty="no browser is signed in")


def _end(session_id: str, as_json: bool) -> None:
    connect().delete(f"/v1/auth/sessions/{segment(session_id)}")
    emit_result({"ended": session_id}, f"signed out {clean(session_id)}", as_json)
