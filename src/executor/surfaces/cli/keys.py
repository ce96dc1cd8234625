from __future__ import annotations

from typing import Any

import click

from executor.settings import Settings
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit, emit_json, say, table

SCOPES = ("discover", "execute", "read")
COLUMNS = {
    "id": "ID",
    "name": "NAME",
    "prefix": "PREFIX",
    "scopes": "SCOPES",
    "expiresAt": "EXPIRES",
    "lastUsedAt": "LAST USED",
    "revokedAt": "REVOKED",
}


@click.group("keys", cls=SuggestingGroup, help=COMMANDS["keys"])
def command() -> None: ...


@command.command("create")
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="What it may do; may be repeated.")
@click.option("--days", type=click.IntRange(1, 3650), default=90, show_default=True, help="How long it is good for.")
@click.option("--never-expires", is_flag=True, help="Good until it is revoked.")
@json_option
def create(name: str, scopes: tuple[str, ...], days: int, never_expires: bool, as_json: bool) -> None:
    """Make a key; its token is shown this once."""
    body: dict[str, Any] = {"name": name, "expiresInDays": None if never_expires else days}
    if scopes:
        body["scopes"] = list(dict.fromkeys(scopes))
    show_token(connect(Settings.load()).post("/v1/keys", body), as_json)


@command.command("list")
@json_option
def listing(as_json: bool) -> None:
    """List keys: your own, or everyone's for an admin."""
    page = connect(Settings.load()).get("/v1/keys")
    if as_json:
        emit_json(page)
    elif page["items"]:
        emit(table([{**key, "scopes": ", ".join(key["scopes"])} for key in page["items"]], COLUMNS))
    else:
        say("no keys")


@command.command("revoke")
@click.argument("key_id", metavar="ID")
@json_option
def revoke(key_id: str, as_json: bool) -> None:
    """End a key at once."""
    connect(Settings.load()).delete(f"/v1/keys/{segment(key_id)}")
    ended("revoked", key_id, as_json)


def show_token(made: dict[str, Any], as_json: bool) -> None:
    """The token alone on standard output, so that it can be piped to where it belongs."""
    if as_json:
        emit_json(made)
        return
    say(f"made {clean(made['id'])} ({clean(made['name'])}); its token is shown this once:")
    emit(clean(made["token"]))


def ended(how: str, what: str, as_json: bool) -> None:
    if as_json:
        emit_json({how: what})
    else:
        emit(f"{how} {clean(what)}")
