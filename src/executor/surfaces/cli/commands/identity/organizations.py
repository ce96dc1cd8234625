from __future__ import annotations

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import clean, emit, emit_json, emit_page, emit_result, say

CHOICES = ("default", "off", "destructive", "all")
IN_FORCE = {
    "off": "people may approve what they or their agents request",
    "destructive": "another person must approve destructive calls",
    "all": "another person must approve every call that needs approval",
}


command = group("organizations")


@command.command("list")
def listing(as_json: bool) -> None:
    """List the organizations you belong to."""
    page = connect().get("/v1/organizations")
    emit_page(page, {"id": "ID", "name": "NAME", "role": "ROLE", "current": "CURRENT"}, as_json)


@command.command("create")
@click.argument("name")
def create(name: str, as_json: bool) -> None:
    """Create an organization with a first workspace."""
    made = connect().post("/v1/organizations", {"name": name})
    if as_json:
        emit_json(made)
        return
    emit(f"created {clean(made['organization']['id'])}: {clean(made['organization']['name'])}")
    say(f"to act in its workspace:\n  export EXECUTOR_WORKSPACE={clean(made['id'])}")


@command.command("rename")
@click.argument("organization_id", metavar="ID")
@click.argument("name")
def rename(organization_id: str, name: str, as_json: bool) -> None:
    """Rename the current organization."""
    renamed = connect().patch(f"/v1/organizations/{segment(organization_id)}", {"name": name})
    emit_result(renamed, f"renamed {clean(renamed['id'])}: {clean(renamed['name'])}", as_json)


@command.command("separation")
@click.argument("choice", type=click.Choice(CHOICES), required=False)
def separation(choice: str | None, as_json: bool) -> None:
    """Show or set which calls need approval by someone other than the requester: off, destructive, all, or default."""
    client = connect()
    found = client.patch("/v1/separation", {"separation": choice}) if choice else client.get("/v1/separation")
    if as_json:
        emit_json(found)
        return
    emit(f"separation of duties: {clean(found['separation'])}")
    say(f"currently: {IN_FORCE[found['inForce']]}")
