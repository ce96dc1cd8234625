"""A credential that a call waits for, given in the terminal."""

from __future__ import annotations

from typing import Any

from executor.errors import InvalidRequest
from executor.surfaces.cli import entering
from executor.surfaces.cli.client import Client, segment
from executor.surfaces.cli.output import program

KINDS = ("credential", "oauth")


def give(
    client: Client,
    interaction: dict[str, Any],
    *,
    way: str | None = None,
    scope: str = "workspace",
    name: str = "",
    secret: str = "",
) -> dict[str, Any]:
    """Shows where it will be sent before anything is entered."""
    wanted = interaction.get("credential") or {}
    if interaction.get("kind") not in KINDS or not wanted:
        raise InvalidRequest(
            f"{interaction.get('id')} asks for no credential", hint=f"see `{program()} approvals show`"
        )
    chosen = entering.chosen(wanted["ways"], way)
    entering.told(chosen, wanted["sentTo"])
    body: dict[str, Any] = {"way": chosen["name"], "scope": scope, "name": name}
    if secret:
        body["secrets"] = {one["name"]: secret for one in chosen["inputs"]}
    else:
        body["values"] = entering.inputs(chosen["inputs"])
    given: dict[str, Any] = client.post(f"/v1/interactions/{segment(interaction['id'])}/credential", body)
    return given
