from __future__ import annotations

import click

from executor.settings import Settings
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.commands.identity.keys import print_end
from executor.surfaces.cli.commands.identity.members import ROLES
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit, emit_json, say, table

COLUMNS = {"id": "ID", "role": "ROLE", "status": "STATUS", "expiresAt": "EXPIRES", "email": "EMAIL"}


@click.group("invitations", cls=SuggestingGroup, help=COMMANDS["invitations"])
def command() -> None: ...


@command.command("create")
@click.option("--role", type=click.Choice(ROLES), default="member", show_default=True, help="Role of the new member.")
@click.option("--email", default="", help="A note on who it is for. Nothing is sent.")
@click.option("--days", type=click.IntRange(1, 90), default=7, show_default=True, help="How long it is valid.")
@json_option
def create(role: str, email: str, days: int, as_json: bool) -> None:
    """Create an invitation link for one person. It is shown only once."""
    body = {"role": role, "email": email, "expiresInDays": days}
    made = connect(Settings.load()).post("/v1/invitations", body)
    if as_json:
        emit_json(made)
        return
    say(f"created {clean(made['id'])}; this link adds one person as {clean(made['role'])}:")
    emit(clean(made["url"]))


@command.command("list")
@json_option
def listing(as_json: bool) -> None:
    """List invitations and their status."""
    page = connect(Settings.load()).get("/v1/invitations")
    if as_json:
        emit_json(page)
    elif page["items"]:
        emit(table(page["items"], COLUMNS))
    else:
        say("no invitations")


@command.command("revoke")
@click.argument("invitation_id", metavar="ID")
@json_option
def revoke(invitation_id: str, as_json: bool) -> None:
    """Revoke an invitation that no one has accepted yet."""
    connect(Settings.load()).delete(f"/v1/invitations/{segment(invitation_id)}")
    print_end("revoked", invitation_id, as_json)
