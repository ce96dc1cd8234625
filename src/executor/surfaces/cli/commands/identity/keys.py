from __future__ import annotations

from typing import Any

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import clean, emit, emit_json, emit_page, emit_result, say

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


command = group("keys")


@command.command("create")
@click.argument("name")
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="A permission of the key; repeatable."
)
@click.option("--days", type=click.IntRange(1, 3650), default=90, show_default=True, help="How long it is valid.")
@click.option("--never-expires", is_flag=True, help="Never expires; revoke it to disable it.")
def create(name: str, scopes: tuple[str, ...], days: int, never_expires: bool, as_json: bool) -> None:
    """Create a key. Its token is shown only once."""
    body: dict[str, Any] = {"name": name, "expiresInDays": None if never_expires else days}
    if scopes:
        body["scopes"] = list(dict.fromkeys(scopes))
    show_token(connect().post("/v1/keys", body), as_json)


@command.command("list")
def listing(as_json: bool) -> None:
    """List your keys, or everyone's if you are an admin."""
    page = connect().get("/v1/keys")
    rows = [{**key, "scopes": ", ".join(key["scopes"])} for key in page["items"]]
    emit_page(page, COLUMNS, as_json, rows=rows, empty="no keys")


@command.command("revoke")
@click.argument("key_id", metavar="ID")
def revoke(key_id: str, as_json: bool) -> None:
    """Revoke a key immediately."""
    connect().delete(f"/v1/keys/{segment(key_id)}")
    print_end("revoked", key_id, as_json)


def show_token(made: dict[str, Any], as_json: bool) -> None:
    """The token alone on standard output, so that it can be piped to where it belongs."""
    if as_json:
        emit_json(made)
        return
    say(f"created {clean(made['id'])} ({clean(made['name'])}); its token is shown only once:")
    emit(clean(made["token"]))


def print_end(how: str, what: str, as_json: bool) -> None:
    emit_result({how: what}, f"{how} {clean(what)}", as_json)
