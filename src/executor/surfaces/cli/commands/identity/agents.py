from __future__ import annotations

from typing import Any

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.commands.identity.keys import print_end, show_token
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import emit_page, say, with_program

COLUMNS = {
    "id": "ID",
    "name": "NAME",
    "prefix": "PREFIX",
    "expiresAt": "EXPIRES",
    "lastUsedAt": "LAST USED",
    "revokedAt": "REVOKED",
}


command = group("agents")


@command.command("create")
@click.argument("name")
@click.option("--days", type=click.IntRange(1, 3650), help="How long the token is valid. Default: until you revoke it.")
def create(name: str, days: int | None, as_json: bool) -> None:
    """Create an agent. Its token is shown only once."""
    body: dict[str, Any] = {"name": name, "expiresInDays": days}
    show_token(connect().post("/v1/agents", body), as_json)
    if not as_json:
        say(with_program("`executor connect CLIENT --agent NAME` creates an agent and prints what its client needs"))


@command.command("list")
def listing(as_json: bool) -> None:
    """List agents. The token of the first one is in a file."""
    emit_page(connect().get("/v1/agents"), COLUMNS, as_json)


@command.command("revoke")
@click.argument("agent", metavar="AGENT")
def revoke(agent: str, as_json: bool) -> None:
    """Revoke the tokens of AGENT, by name or ID, immediately."""
    connect().delete(f"/v1/agents/{segment(agent)}")
    print_end("revoked", agent, as_json)
