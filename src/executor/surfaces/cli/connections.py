from __future__ import annotations

from typing import Any

import click

from executor.errors import InvalidRequest
from executor.settings import Settings
from executor.surfaces.cli import entering, exits
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.connections_login import login
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit, emit_json, facts, program, say, table, with_program

Placement = dict[str, str]


@click.group("connections", cls=SuggestingGroup, help=COMMANDS["connections"])
def command() -> None: ...


command.add_command(login)


@command.command("add")
@click.argument("source", metavar="SOURCE")
@click.option("--way", help="Which of the credentials that the source takes; the first one if not given.")
@click.option("--bearer", is_flag=True, help="A bearer token, whatever the source says.")
@click.option("--basic", is_flag=True, help="A user name and a password.")
@click.option("--header", "headers", multiple=True, metavar="NAME", help="The value of this header; repeatable.")
@click.option("--query", multiple=True, metavar="NAME", help="The value of this query parameter; repeatable.")
@click.option("--cookie", multiple=True, metavar="NAME", help="The value of this cookie; repeatable.")
@click.option("--env", multiple=True, metavar="NAME", help="A variable of the command that is run; repeatable.")
@click.option("--secret", metavar="NAME", help="Use this secret instead of entering a value.")
@click.option("--name", default="", help="A name, for several of one source; `default` if not given.")
@click.option("--own", is_flag=True, help="For yourself; otherwise for the whole workspace.")
@click.option("--replace", is_flag=True, help="In place of the one of the same name.")
@json_option
def add(source: str, as_json: bool, **given: Any) -> None:
    """Give SOURCE a credential. Values are asked for, or read line by line from standard input."""
    client = connect(Settings.load())
    offered = client.get(f"/v1/connections/ways/{segment(source)}")
    placements = placed(given)
    body: dict[str, Any] = {"source": source, "name": given["name"], "replace": given["replace"]}
    body["scope"] = "actor" if given["own"] else "workspace"
    if placements:
        body["placements"] = placements
        wanted = wanted_by(placements)
        say(f"it will be sent to {clean(offered['sentTo'])} and nowhere else")
    else:
        way = entering.chosen(offered["items"], given["way"])
        entering.told(way, offered["sentTo"])
        body["way"], wanted = way["name"], way["inputs"]
    if given["secret"]:
        if len(wanted) != 1:
            raise InvalidRequest(f"it takes {len(wanted)} values", hint="leave --secret out, and enter them")
        body["secrets"] = {wanted[0]["name"]: given["secret"]}
    else:
        body["values"] = entering.inputs(wanted)
    made = client.post("/v1/connections", body)
    if as_json:
        emit_json(made)
    else:
        emit(f"connected {clean(made['source'])} as {clean(made['name'])}: {clean(made['scheme'])}")


def placed(given: dict[str, Any]) -> list[Placement]:
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


def wanted_by(placements: list[Placement]) -> list[entering.Input]:
    found: list[entering.Input] = []
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
@json_option
def listing(as_json: bool) -> None:
    """List the connections. Nothing shows their values."""
    page = connect(Settings.load()).get("/v1/connections")
    if as_json:
        emit_json(page)
    elif page["items"]:
        columns = {"source": "SOURCE", "name": "NAME", "scope": "SCOPE", "scheme": "SCHEME", "status": "STATUS"}
        emit(table(page["items"], {**columns, "id": "ID"}))
    else:
        say(f"no connections yet; give a source a credential:\n  {program()} connections add SOURCE")


@command.command("show")
@click.argument("connection", metavar="ID|SOURCE")
@click.option("--name", default="", help="Of several of one source.")
@json_option
def show(connection: str, name: str, as_json: bool) -> None:
    """Show one, without its values."""
    client = connect(Settings.load())
    found = client.get(f"/v1/connections/{segment(named(client, connection, name))}")
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
@click.option("--name", default="", help="Of several of one source.")
@json_option
def remove(connection: str, name: str, as_json: bool) -> None:
    """Forget a connection and the values that were entered for it."""
    client = connect(Settings.load())
    gone = client.delete(f"/v1/connections/{segment(named(client, connection, name))}")
    if as_json:
        emit_json(gone)
    else:
        emit(f"removed {clean(gone['name'])} of {clean(gone['source'])}")


@command.command("test")
@click.argument("connection", metavar="ID|SOURCE")
@click.option("--name", default="", help="Of several of one source.")
@json_option
def test(connection: str, name: str, as_json: bool) -> int:
    """Ask the service whether it accepts a connection, with a call that changes nothing."""
    client = connect(Settings.load())
    told = client.post(f"/v1/connections/{segment(named(client, connection, name))}/test")
    if as_json:
        emit_json(told)
    elif told["ok"]:
        emit(f"ok: {clean(told['checked'])}")
    else:
        emit(f"{clean(told['outcome'])}: {clean(told.get('error'))}")
        say(f"hint: {clean(with_program(told.get('hint') or ''))}")
    return exits.COMPLETED if told["ok"] else exits.FAILED


def named(client: Client, text: str, name: str) -> str:
    """The id itself, or that of a source's connection."""
    items = client.get("/v1/connections")["items"]
    found = [one for one in items if text == one["id"] or (text == one["source"] and name in ("", one["name"]))]
    if len(found) > 1:
        names = ", ".join(f"{clean(one['name'])} ({clean(one['id'])})" for one in found)
        raise InvalidRequest(f"{text} has {len(found)} connections", hint=f"give --name or the id: {names}")
    if not found:
        raise InvalidRequest(f"there is no connection {text!r}", hint=f"see `{program()} connections list`")
    return str(found[0]["id"])
