from __future__ import annotations

from typing import Any

import click

from executor.errors import NotFound
from executor.settings import Settings
from executor.surfaces.cli.client import Client, connect
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import emit, emit_json, say, table, with_program

COLUMNS = {"id": "CLIENT", "name": "NAME", "place": "WHERE"}


@click.command("connect", help=COMMANDS["connect"])
@click.argument("client_id", metavar="[CLIENT]", default="")
@click.option(
    "--agent",
    metavar="NAME",
    help="The agent that the client acts as; created if it doesn't exist. Default: named after the client.",
)
@click.option("--http", "over_http", is_flag=True, help="Connect over HTTP with the agent's token instead of stdio.")
@json_option
def command(client_id: str, agent: str | None, over_http: bool, as_json: bool) -> None:
    """The text alone goes to standard output, so that it can be piped to where it belongs."""
    settings = Settings.load()
    client = connect(settings)
    if not client_id:
        _list(client, as_json)
        return
    name = agent or client_id
    shown = _find(client, client_id, name)
    transport = "http" if over_http or not shown["stdio"] else "stdio"
    if not shown[transport]:
        raise NotFound(f"{shown['name']} connects over stdio only", hint="leave out `--http`")
    token = _kept_token(client, settings, name)
    text = shown[transport].replace(shown["placeholder"], token)
    if as_json:
        emit_json({"client": client_id, "place": shown["place"], "transport": transport, "agent": name, "text": text})
    else:
        say(f"{shown['place']}; {shown['name']} then acts as agent {name}:")
        emit(text)


def _list(client: Client, as_json: bool) -> None:
    found = client.get("/v1/clients")["items"]
    if as_json:
        emit_json({"items": found})
    else:
        emit(table(found, COLUMNS))
        say(with_program("`executor connect CLIENT` prints the configuration for that client"))


def _find(client: Client, client_id: str, agent: str) -> dict[str, Any]:
    page = client.get("/v1/clients", agent=agent)
    for one in page["items"]:
        if one["id"] == client_id:
            return {**one, "placeholder": page["tokenPlaceholder"]}
    known = ", ".join(one["id"] for one in page["items"])
    raise NotFound(f"there is no client {client_id[:100]!r}", hint=f"known clients: {known}")


def _kept_token(client: Client, settings: Settings, name: str) -> str:
    """Of the agent of that name, which is created unless it exists and its token is kept."""
    from executor.identity.local_tokens import agent_file, read_token

    kept = read_token(agent_file(settings.data_dir, name))
    agents = client.get("/v1/agents")["items"] if kept else []
    if kept and any(_is_of(kept, one) for one in agents if one["name"] == name):
        return kept
    made: str = client.post("/v1/agents", {"name": name, "keepToken": True})["token"]
    return made


def _is_of(token: str, agent: dict[str, Any]) -> bool:
    return bool(agent["prefix"]) and token.startswith(agent["prefix"]) and agent["revokedAt"] is None
