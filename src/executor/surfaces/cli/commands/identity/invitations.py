from __future__ import annotations

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.commands.identity.keys import print_end
from executor.surfaces.cli.commands.identity.members import ROLES
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import clean, emit, emit_json, emit_page, say

COLUMNS = {"id": "ID", "role": "ROLE", "status": "STATUS", "expiresAt": "EXPIRES", "email": "EMAIL"}


command = group("invitations")


@command.command("create")
@click.option("--role", type=click.Choice(ROLES), default="member", show_default=True, help="Role of the new member.")
@click.option("--email", default="", help="A note on who it is for. Nothing is sent.")
@click.option("--days", type=click.IntRange(1, 90), default=7, show_default=True, help="How long it is valid.")
def create(role: str, email: str, days: int, as_json: bool) -> None:
    """Create an invitation link for one person. It is shown only once."""
    body = {"role": role, "email": email, "expiresInDays": days}
    made = connect().post("/v1/invitations", body)
    if as_json:
        emit_json(made)
        return
    say(f"created {clean(made['id'])}; this link adds one person as {clean(made['role'])}:")
    emit(clean(made["url"]))


@command.command("list")
def listing(as_json: bool) -> None:
    """List invitations and their status."""
    emit_page(connect().get("/v1/invitations"), COLUMNS, as_json, empty="no invitations")


@command.command("revoke")
@click.argument("invitation_id", metavar="ID")
def revoke(invitation_id: str, as_json: bool) -> None:
    """Revoke an invitation that no one has accepted yet."""
    connect().delete(f"/v1/invitations/{segment(invitation_id)}")
    print_end("revoked", invitation_id, as_json)
