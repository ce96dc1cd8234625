from __future__ import annotations

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import clean, emit, emit_json, emit_page, emit_result, say

command = group("workspaces")


@command.command("list")
def listing(as_json: bool) -> None:
    """List the workspaces you have access to."""
    page = connect().get("/v1/workspaces")
    columns = {"id": "ID", "name": "NAME", "organization": "ORGANIZATION", "role": "ROLE", "current": "CURRENT"}
    rows = [{**one, "organization": one["organization"]["name"]} for one in page["items"]]
    emit_page(page, columns, as_json, rows=rows)


@command.command("create")
@click.argument("name")
def create(name: str, as_json: bool) -> None:
    """Create a workspace in the organization."""
    made = connect().post("/v1/workspaces", {"name": name})
    if as_json:
        emit_json(made)
        return
    emit(f"created {clean(made['id'])}: {clean(made['name'])}")
    say(f"to use it:\n  export EXECUTOR_WORKSPACE={clean(made['id'])}")


@command.command("rename")
@click.argument("workspace_id", metavar="ID")
@click.argument("name")
def rename(workspace_id: str, name: str, as_json: bool) -> None:
    """Rename a workspace."""
    renamed = connect().patch(f"/v1/workspaces/{segment(workspace_id)}", {"name": name})
    emit_result(renamed, f"renamed {clean(renamed['id'])}: {clean(renamed['name'])}", as_json)
