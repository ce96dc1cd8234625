from __future__ import annotations

from typing import Any

import click

from executor.errors import InvalidRequest
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.commands.credentials.connections_login import login
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import (
    clean,
    emit,
    emit_json,
    emit_page,
    emit_result,
    facts,
    program,
    say,
    with_program,
)
from executor.surfaces.cli.prompts import secret_input

Placement = dict[str, str]


command = group("connections")


command.add_command(login)


@command.command("add")
@click.argument("source", metavar="SOURCE")
@click.option("--way", help="Which of the source's credentials to set. Default: the first.")
@click.option("--bearer", is_flag=True, help="Use a bearer token, regardless of what the source declares.")
@click.option("--basic", is_flag=True, help="A user name and a password.")
@click.option("--header", "headers", multiple=True, metavar="NAME", help="The value of this header; repeatable.")
@click.option("--query", multiple=True, metavar="NAME", help="The value of this query parameter; repeatable.")
@click.option("--cookie", multiple=True, metavar="NAME", help="The value of this cookie; repeatable.")
@click.option(
    "--env", multiple=True, metavar="NAME", help="An environment variable of the source's command; repeatable."
)
@click.option("--secret", metavar="NAME", help="Use this secret instead of entering a value.")
@click.option("--name", default="", help="A name, if the source has several connections. Default: `default`.")
@click.option("--own", is_flag=True, help="Only for yourself. Default: the whole workspace.")
@click.option("--replace", is_flag=True, help="Replace the connection of the same name.")
def add(source: str, as_json: bool, **given: Any) -> None:
    """Add a credential for SOURCE. Values are prompted for, or read line by line from standard input."""
    client = connect()
    offered = client.get(f"/v1/sources/{segment(source)}/ways")
    placements = read_placements(given)
    body: dict[str, Any] = {"source": source, "name": given["name"], "replace": given["replace"]}
    body["scope"] = "actor" if given["own"] else "workspace"
    if placements:
        body["placements"] = placements
        wanted = wanted_by(placements)
        say(f"it will be sent to {clean(offered['sentTo'])} and nowhere else")
    else:
        way = secret_input.choose_way(offered["items"], given["way"])
        secret_input.explain_way(way, offered["sentTo"])
        body["way"], wanted = way["name"], way["inputs"]
    if given["secret"]:
        if len(wanted) != 1:
            raise InvalidRequest(f"this credential has {len(wanted)} values", hint="leave out --secret and enter them")
        body["secrets"] = {wanted[0]["name"]: given["secret"]}
    else:
        body["values"] = secret_input.inputs(wanted)
    made = client.post("/v1/connections", body)
    emit_result(made, f"connected {clean(made['source'])} as {clean(made['name'])}: {clean(made['scheme'])}", as_json)


def read_placements(given: dict[str, Any]) -> list[Placement]:
    found: list[Placement] = []
    if given["bearer"]:
        found.append({"in": "header", "name": "Authorization", "template": "Bearer {token}"})
    if given["basic"]:
        found.append({"in": "header", "name": "Authorization", "template": "Basic {basic}"})
    places = {"headers": "header", "query": "query", "cookie": "cookie", "env": "environment"}
    for option, where in places.items():
        for name in given[option]:
            number = len(found) + 1
            found.append({"in": where, "name": name, "template": f"{{value{number}}}"})
    return found


def wanted_by(placements: list[Placement]) -> list[secret_input.Input]:
    found: list[secret_input.Input] = []
    for one in placements:
        if "{basic}" in one["template"]:
            found.append({"name": "username", "label": "user name", "secret": False})
            found.append({"name": "password", "label": "password", "secret": True})
        else:
            name = one["template"].partition("{")[2].partition("}")[0]
            label = "token" if name == "token" else f"value of the {one['in']} {one['name']}"
            found.append({"name": name, "label": label, "secret": True})
    return found


@command.command("list")
def listing(as_json: bool) -> None:
    """List connections. Values are never shown."""
    page = connect().get("/v1/connections")
    columns = {"source": "SOURCE", "name": "NAME", "scope": "SCOPE", "scheme": "SCHEME", "status": "STATUS", "id": "ID"}
    empty = f"no connections yet; add one for a source:\n  {program()} connections add SOURCE"
    emit_page(page, columns, as_json, empty=empty)


@command.command("show")
@click.argument("connection", metavar="ID|SOURCE")
@click.option("--name", default="", help="The connection's name, if the source has several.")
def show(connection: str, name: str, as_json: bool) -> None:
    """Show a connection without its values."""
    client = connect()
    found = client.get(f"/v1/connections/{segment(find_connection(client, connection, name))}")
    if as_json:
        emit_json(found)
        return
    found["places"] = ", ".join(found.get("places") or ())
    emit(facts([(label, found.get(field)) for label, field in _FACTS.items()]))


_FACTS = {
    "source": "source",
    "name": "name",
    "scope": "scope",
    "scheme": "scheme",
    "sent as": "places",
    "sent to": "origin",
    "status": "status",
    "error": "error",
    "revision": "revision",
    "added": "createdAt",
    "changed": "updatedAt",
    "last used": "lastUsedAt",
    "id": "id",
}


@command.command("remove")
@click.argument("connection", metavar="ID|SOURCE")
@click.option("--name", default="", help="The connection's name, if the source has several.")
def remove(connection: str, name: str, as_json: bool) -> None:
    """Remove a connection and the values entered for it."""
    client = connect()
    gone = client.delete(f"/v1/connections/{segment(find_connection(client, connection, name))}")
    emit_result(gone, f"removed {clean(gone['name'])} of {clean(gone['source'])}", as_json)


@command.command("test")
@click.argument("connection", metavar="ID|SOURCE")
@click.option("--name", default="", help="The connection's name, if the source has several.")
def test(connection: str, name: str, as_json: bool) -> int:
    """Test a connection against the service with a call that changes nothing."""
    client = connect()
    answer = client.post(f"/v1/connections/{segment(find_connection(client, connection, name))}/test")
    if as_json:
        emit_json(answer)
    elif answer["ok"]:
        emit(f"ok: {clean(answer['checked'])}")
    else:
        emit(f"{clean(answer['outcome'])}: {clean(answer.get('error'))}")
        say(f"hint: {clean(with_program(answer.get('hint') or ''))}")
    return exit_codes.COMPLETED if answer["ok"] else exit_codes.FAILED


def find_connection(client: Client, text: str, name: str) -> str:
    """The id itself, or that of a source's connection."""
    items = client.get("/v1/connections")["items"]
    found = [one for one in items if text == one["id"] or (text == one["source"] and name in ("", one["name"]))]
    if len(found) > 1:
        names = ", ".join(f"{clean(one['name'])} ({clean(one['id'])})" for one in found)
        raise InvalidRequest(f"{text} has {len(found)} connections", hint=f"pass --name or the ID: {names}")
    if not found:
        raise InvalidRequest(f"there is no connection {text!r}", hint=f"see `{program()} connections list`")
    return str(found[0]["id"])
