"""`connections login`: by a browser, by another device, or by a client that speaks for itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from executor.errors import ExecutorError, InvalidRequest, OAuthFailed
from executor.settings import Settings
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.browser import open_page
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.output import clean, emit, emit_json, interactive, program, say
from executor.surfaces.cli.prompts import secret_input

LOOK_SECONDS = 1.0
WAIT_SECONDS = 600.0


@click.command("login")
@click.argument("source", metavar="SOURCE")
@click.option("--device", is_flag=True, help="Show a code to type in on any device, instead of opening a browser.")
@click.option("--client-credentials", is_flag=True, help="Use the client's own secret or key; no person signs in.")
@click.option("--scope", "scopes", multiple=True, metavar="NAME", help="Request this scope; repeatable.")
@click.option("--name", default="", help="A name, if the source has several connections. Default: `default`.")
@click.option("--own", is_flag=True, help="Only for yourself. Default: the whole workspace.")
@click.option("--interaction", metavar="ID", default="", help="The approval that is waiting for this login.")
@click.option("--client-id", metavar="ID", default="", help="Client ID of an app you registered with the server.")
@click.option(
    "--with-secret", is_flag=True, help="The app has a secret; it is prompted for, or read from standard input."
)
@click.option(
    "--key-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The app signs with a private key (`private_key_jwt`): a PEM file.",
)
@click.option("--allow-server", metavar="URL", default="", help="Allow a login server at this private address.")
@click.option(
    "--confirm-server",
    "confirmed",
    multiple=True,
    metavar="URL",
    help="Confirm one of the servers that the login uses; repeatable.",
)
@click.option("--no-open", is_flag=True, help="Print the link instead of opening a browser.")
@click.option("--no-wait", is_flag=True, help="Don't wait for the login to finish.")
def login(source: str, as_json: bool, **given: Any) -> int:
    """Log in to SOURCE with OAuth. Calls then use the account you sign in with."""
    if given["device"] and given["client_credentials"]:
        raise InvalidRequest("--device and --client-credentials can't be combined", hint="leave out one of them")
    settings = Settings.load()
    client, body = connect(settings), wish(source, given)
    if given["client_credentials"]:
        return print_connection(begin(client, "credentials", body, as_json), as_json)
    if given["device"]:
        return by_device(client, body, as_json, wait=not given["no_wait"])
    if as_json and given["no_wait"]:
        emit_json(begin(client, "start", body, as_json))
        return exit_codes.PAUSED
    before = read_connections(client)
    show_link(client, begin(client, "start", body, as_json), opens=not given["no_open"], show=say if as_json else emit)
    return (
        exit_codes.PAUSED if given["no_wait"] else print_connection(wait_for_connection(client, body, before), as_json)
    )


def read_connections(client: Client) -> dict[str, int]:
    """The connections that there are, and how often each was changed."""
    return {one["id"]: one["revision"] for one in client.get("/v1/connections")["items"]}


def show_link(client: Client, started: dict[str, Any], *, opens: bool, show: Callable[[str], None]) -> None:
    say("open this link within ten minutes, in the browser you want to log in with; it works once:")
    show(clean(started["authorizationUrl"]))
    if opens and interactive():
        open_page(client.settings, "oauth.html", started["authorizationUrl"])


def log_in_here(client: Client, body: dict[str, Any], *, opens: bool = True) -> None:
    """Begin the login that something needs, and wait until it is done. Nothing goes to standard output."""
    before = read_connections(client)
    show_link(client, begin(client, "start", body, as_json=False), opens=opens, show=say)
    say("waiting for your login; press Ctrl-C to stop waiting")
    wait_for_connection(client, body, before)


def request_for(source: str, **given: Any) -> dict[str, Any]:
    """A login as `/v1/connections/oauth` takes it."""
    return {"source": source, "name": "", "scope": "workspace", "interactionId": "", **given}


def wish(source: str, given: dict[str, Any]) -> dict[str, Any]:
    body = request_for(
        source,
        scopes=list(given["scopes"]),
        name=given["name"],
        scope="actor" if given["own"] else "workspace",
        interactionId=given["interaction"],
        clientId=given["client_id"],
        allowServer=given["allow_server"],
        confirmServers=list(given["confirmed"]),
    )
    if given["with_secret"] and given["key_file"]:
        raise InvalidRequest("--with-secret and --key-file can't be combined", hint="leave out one of them")
    if (given["with_secret"] or given["key_file"]) and not given["client_id"]:
        raise InvalidRequest("a client secret needs a client", hint="also pass --client-id")
    if given["with_secret"]:
        body["clientSecret"] = secret_input.enter_secret("the client's secret")
    if given["key_file"]:
        body |= {"clientSecret": read_key(given["key_file"]), "clientMethod": "private_key_jwt"}
    return body


def read_key(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        raise InvalidRequest(
            f"{file} is not a PEM file that can be read", hint="pass the private key's file"
        ) from error


def begin(client: Client, how: str, body: dict[str, Any], as_json: bool) -> dict[str, Any]:
    """A login at several servers, or at one on a private network, is begun once a person has seen their names."""
    for _ in range(3):
        try:
            return dict(client.post(f"/v1/connections/oauth/{how}", body))
        except ExecutorError as error:
            servers, private = error.details.get("servers"), error.details.get("server")
            if not (servers or private) or as_json or not interactive():
                error.hint = name_servers(servers or ()) or error.hint
                raise
            if servers:
                body["confirmServers"] = confirm_servers(servers, error)
            else:
                body["allowServer"] = confirm_private(str(private), error)
    return dict(client.post(f"/v1/connections/oauth/{how}", body))


def name_servers(servers: Sequence[dict[str, str]]) -> str:
    """The options to be pasted."""
    options = " ".join(f"--confirm-server {clean(one)}" for one in dict.fromkeys(one["origin"] for one in servers))
    return f"if all of them belong to the service, repeat the login with {options}" if options else ""


def confirm_private(server: str, error: ExecutorError) -> str:
    say(f"the login server {clean(server)} is on a private network")
    if not click.confirm("is this the right server?", err=True):
        raise error
    return server


def confirm_servers(servers: list[dict[str, str]], error: ExecutorError) -> list[str]:
    say("this login involves several servers:")
    for one in servers:
        say(f"  {clean(one['says'])}: {clean(one['origin'])}")
    if not click.confirm("do all of them belong to the service?", err=True):
        raise error
    return [one["origin"] for one in servers]


def by_device(client: Client, body: dict[str, Any], as_json: bool, *, wait: bool) -> int:
    shown = begin(client, "device", body, as_json)
    say(f"open {clean(shown['verificationUrl'])} on any device, and enter the code")
    (say if as_json else emit)(clean(shown["userCode"]))
    if not wait:
        return exit_codes.PAUSED
    until, interval = time.monotonic() + WAIT_SECONDS * 3, shown["interval"]
    while time.monotonic() < until:
        time.sleep(interval)
        state = client.post("/v1/connections/oauth/device/ask", {"flow": shown["flow"]})
        interval = state["interval"]
        if state["status"] == "connected":
            return print_connection(state["connection"], as_json)
    raise unfinished_error(body)


def wait_for_connection(client: Client, body: dict[str, Any], before: dict[str, int]) -> dict[str, Any]:
    """The connection: once it is there or has changed, or once the interaction that waits for it is settled."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        settled = is_settled(client, body["interactionId"])
        ready = [one for one in client.get("/v1/connections")["items"] if matches(one, body)]
        changed = [one for one in ready if before.get(one["id"]) != one["revision"]]
        if settled and (changed or ready):
            return dict((changed or ready)[0])
        if not body["interactionId"] and changed:
            return dict(changed[0])
        time.sleep(LOOK_SECONDS)
    raise unfinished_error(body)


def matches(connection: dict[str, Any], body: dict[str, Any]) -> bool:
    """An interaction names the connection that it wants, so for one of those the source is enough."""
    if connection["source"] != body["source"] or connection["status"] != "ready":
        return False
    wanted = (body["name"] or "default", body["scope"])
    return bool(body["interactionId"]) or (connection["name"], connection["scope"]) == wanted


def is_settled(client: Client, interaction_id: str) -> bool:
    """False without an interaction. No one logs in for one that was denied, cancelled or left too long."""
    if not interaction_id:
        return False
    status = client.get(f"/v1/interactions/{segment(interaction_id)}")["status"]
    if status not in ("pending", "approved"):
        raise OAuthFailed(f"{interaction_id} is no longer waiting for a login: {status}", hint="run the code again")
    return bool(status == "approved")


def print_connection(connection: dict[str, Any], as_json: bool) -> int:
    if as_json:
        emit_json(connection)
    else:
        where = clean(connection["origin"])
        emit(f"connected {clean(connection['source'])} ({clean(connection['name'])}), sent to {where}")
    return exit_codes.COMPLETED


def unfinished_error(body: dict[str, Any]) -> OAuthFailed:
    asked = f" --interaction {body['interactionId']}" if body["interactionId"] else ""
    return OAuthFailed(
        "the login was not completed in time",
        hint=f"start it again: `{program()} connections login {body['source']}{asked}`",
    )
