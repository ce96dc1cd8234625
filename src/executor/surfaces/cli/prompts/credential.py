"""What a call waits for, given in the terminal: a value that is typed in, or a login in a browser."""

from __future__ import annotations

import shlex
from typing import Any

from executor.errors import Forbidden, InvalidRequest
from executor.surfaces.cli.client import Client, segment
from executor.surfaces.cli.commands.credentials import connections_login
from executor.surfaces.cli.output import clean, interactive, program
from executor.surfaces.cli.prompts import secret_input

KINDS = ("credential", "oauth")


def needs_login(interaction: dict[str, Any]) -> bool:
    """The first way that the source names decides; any others are chosen with `approvals give --way`."""
    ways: list[dict[str, Any]] = (interaction.get("credential") or {}).get("ways") or []
    return bool(ways) and ways[0].get("oauth") is not None


def check_may_give(client: Client) -> None:
    """Only those who may provide a secret are prompted for it."""
    if "connect" not in client.get("/v1/auth/whoami")["permissions"]:
        raise Forbidden(
            "this token may not provide credentials", hint="a person can provide it, in a terminal or a browser"
        )


def next_command(interaction: dict[str, Any]) -> tuple[str, str]:
    """What the command does, and the command itself, ready to paste."""
    identity = clean(interaction["id"])
    if interaction.get("kind") not in KINDS:
        return "approve it", f"{program()} approvals approve {identity}"
    wanted = interaction.get("credential") or {}
    source = shlex.quote(clean(wanted.get("source", "")))
    if needs_login(interaction):
        return "log in", f"{program()} connections login {source} --interaction {identity}"
    if not wanted.get("ways"):
        return "provide it as an environment variable", f"{program()} connections add {source} --env NAME"
    return "provide it", f"{program()} approvals give {identity}"


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
    if needs_login(interaction) and way is None and not secret:
        return log_in(client, interaction, scope=scope, name=name)
    chosen = way_of(interaction, way)
    body: dict[str, Any] = {"way": chosen["name"], "scope": scope, "name": name}
    if secret:
        body["secrets"] = {one["name"]: secret for one in chosen["inputs"]}
    else:
        body["values"] = secret_input.inputs(chosen["inputs"])
    return send(client, interaction, body)


def way_of(interaction: dict[str, Any], name: str | None = None) -> dict[str, Any]:
    wanted = interaction.get("credential") or {}
    if interaction.get("kind") not in KINDS or not wanted:
        raise InvalidRequest(
            f"{interaction.get('id')} does not ask for a credential", hint=f"see `{program()} approvals show`"
        )
    if not wanted["ways"]:
        does, command = next_command(interaction)
        raise InvalidRequest(
            f"{wanted['source']} does not say which credential it accepts", hint=f"to {does}: `{command}`"
        )
    chosen = secret_input.choose_way(wanted["ways"], name)
    secret_input.explain_way(chosen, wanted["sentTo"])
    return chosen


def send(client: Client, interaction: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = client.post(f"/v1/interactions/{segment(interaction['id'])}/credential", body)
    return given


def is_settled(client: Client, interaction: dict[str, Any]) -> bool:
    """In the browser, meanwhile."""
    return bool(client.get(f"/v1/interactions/{segment(interaction['id'])}")["status"] != "pending")


def log_in(client: Client, interaction: dict[str, Any], *, scope: str = "workspace", name: str = "") -> dict[str, Any]:
    """Opens the browser and waits until someone has logged in. Without a terminal it would wait for no one."""
    if not interactive():
        does, command = next_command(interaction)
        link = f", or open {interaction['url']}" if interaction.get("url") else ""
        raise InvalidRequest(
            f"{interaction['id']} needs a login, which happens in a browser", hint=f"to {does}: `{command}`{link}"
        )
    body = connections_login.request_for(
        interaction["credential"]["source"], name=name, scope=scope, interactionId=interaction["id"]
    )
    connections_login.log_in_here(client, body)
    settled: dict[str, Any] = client.get(f"/v1/interactions/{segment(interaction['id'])}")
    return settled
