from __future__ import annotations

import click

from executor.settings import Settings
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit, emit_json, say, table


@click.group("workspaces", cls=SuggestingGroup, help=COMMANDS["workspaces"])
def command() -> None: ...


@command.command("list")
@json_option
def listing(as_json: bool) -> None:
    """List the workspaces you have access to."""
    page = connect(Settings.load()).get("/v1/workspaces")
    if as_json:
        emit_json(page)
        return
    columns = {"id": "ID", "name": "NAME", "organization": "ORGANIZATION", "role": "ROLE", "current": "CURRENT"}
    emit(table([{**one, "organization": one["organization"]["name"]} for one in page["items"]], columns))


@command.command("create")
@click.argument("name")
@json_option
def create(name: str, as_json: bool) -> None:
    """Create a workspace in the organization."""
    made = connect(Settings.load()).post("/v1/workspaces", {"name": name})
    if as_json:
        emit_json(made)
        return
    emit(f"created {clean(made['id'])}: {clean(made['name'])}")
    say(f"to use it:\n  export EXECUTOR_WORKSPACE={clean(made['id'])}")


@command.command("rename")
@click.argument("workspace_id", metavar="ID")
@click.argument("name")
@json_option
def rename(workspace_id: str, name: str, as_json: bool) -> None:
    """Rename a workspace."""
    renamed = connect(Settings.load()).patch(f"/v1/workspaces/{segment(workspace_id)}", {"name": name})
    if as_json:
        emit_json(renamed)
    else:
        emit(f"renamed {clean(renamed['id'])}: {clean(renamed['name'])}")
