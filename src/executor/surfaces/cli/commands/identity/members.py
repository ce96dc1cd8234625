from __future__ import annotations

import click

from executor.settings import Settings
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.commands.identity.keys import print_end
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit, emit_json, table

ROLES = ("owner", "admin", "member", "viewer")


@click.group("members", cls=SuggestingGroup, help=COMMANDS["members"])
def command() -> None: ...


@command.command("list")
@json_option
def listing(as_json: bool) -> None:
    """List the members and their roles."""
    page = connect(Settings.load()).get("/v1/members")
    if as_json:
        emit_json(page)
    else:
        emit(table(page["items"], {"accountId": "ID", "name": "NAME", "role": "ROLE", "email": "EMAIL"}))


@command.command("role")
@click.argument("account_id", metavar="ID")
@click.argument("role", type=click.Choice(ROLES))
@json_option
def role(account_id: str, role: str, as_json: bool) -> None:
    """Change a member's role."""
    changed = connect(Settings.load()).patch(f"/v1/members/{segment(account_id)}", {"role": role})
    if as_json:
        emit_json(changed)
    else:
        emit(f"{clean(changed['accountId'])} is now {clean(changed['role'])}")


@command.command("remove")
@click.argument("account_id", metavar="ID")
@json_option
def remove(account_id: str, as_json: bool) -> None:
    """Remove a member, with their keys and sessions."""
    connect(Settings.load()).delete(f"/v1/members/{segment(account_id)}")
    print_end("removed", account_id, as_json)
