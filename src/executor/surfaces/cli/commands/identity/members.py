from __future__ import annotations

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.commands.identity.keys import print_end
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import clean, emit_page, emit_result

ROLES = ("owner", "admin", "member", "viewer")


command = group("members")


@command.command("list")
def listing(as_json: bool) -> None:
    """List the members and their roles."""
    page = connect().get("/v1/members")
    emit_page(page, {"accountId": "ID", "name": "NAME", "role": "ROLE", "email": "EMAIL"}, as_json)


@command.command("role")
@click.argument("account_id", metavar="ID")
@click.argument("role", type=click.Choice(ROLES))
def role(account_id: str, role: str, as_json: bool) -> None:
    """Change a member's role."""
    changed = connect().patch(f"/v1/members/{segment(account_id)}", {"role": role})
    emit_result(changed, f"{clean(changed['accountId'])} is now {clean(changed['role'])}", as_json)


@command.command("remove")
@click.argument("account_id", metavar="ID")
def remove(account_id: str, as_json: bool) -> None:
    """Remove a member, with their keys and sessions."""
    connect().delete(f"/v1/members/{segment(account_id)}")
    print_end("removed", account_id, as_json)
