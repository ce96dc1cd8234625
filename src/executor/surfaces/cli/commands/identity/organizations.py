from __future__ import annotations

import click

from executor.settings import Settings
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit, emit_json, say, table

CHOICES = ("default", "off", "destructive", "all")
IN_FORCE = {
    "off": "people may approve what they or their agents request",
    "destructive": "another person must approve destructive calls",
    "all": "another person must approve every call that needs approval",
}


@click.group("organizations", cls=SuggestingGroup, help=COMMANDS["organizations"])
def command() -> None: ...


@command.command("list")
@json_option
def listing(as_json: bool) -> None:
    """List the organizations you belong to."""
    page = connect(Settings.load()).get("/v1/organizations")
    if as_json:
        emit_json(page)
    else:
        emit(table(page["items"], {"id": "ID", "name": "NAME", "role": "ROLE", "current": "CURRENT"}))


@command.command("create")
@click.argument("name")
@json_option
def create(name: str, as_json: bool) -> None:
    """Create an organization with a first workspace."""
    made = connect(Settings.load()).post("/v1/organizations", {"name": name})
    if as_json:
        emit_json(made)
        return
    emit(f"created {clean(made['organization']['id'])}: {clean(made['organization']['name'])}")
    say(f"to act in its workspace:\n  export EXECUTOR_WORKSPACE={clean(made['id'])}")


@command.command("rename")
@click.argument("organization_id", metavar="ID")
@click.argument("name")
@json_option
def rename(organization_id: str, name: str, as_json: bool) -> None:
    """Rename the current organization."""
    renamed = connect(Settings.load()).patch(f"/v1/organizations/{segment(organization_id)}", {"name": name})
    if as_json:
        emit_json(renamed)
    else:
        emit(f"renamed {clean(renamed['id'])}: {clean(renamed['name'])}")


@command.command("separation")
@click.argument("choice", type=click.Choice(CHOICES), required=False)
@json_option
def separation(choice: str | None, as_json: bool) -> None:
    """Show or set which calls need approval by someone other than the requester: off, destructive, all, or default."""
    client = connect(Settings.load())
    found = client.patch("/v1/separation", {"separation": choice}) if choice else client.get("/v1/separation")
    if as_json:
        emit_json(found)
        return
    emit(f"separation of duties: {clean(found['separation'])}")
    say(f"currently: {IN_FORCE[found['inForce']]}")
