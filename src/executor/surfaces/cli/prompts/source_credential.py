"""What a new source wants before it can be read: asked for right here, and kept as its connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from executor.dataclass import dataclass
from executor.errors import DaemonUnreachable, ExecutorError, InvalidRequest, OAuthFailed
from executor.surfaces.cli.client import Client, segment
from executor.surfaces.cli.commands.credentials import connections_login
from executor.surfaces.cli.output import clean, program, say, show_error
from executor.surfaces.cli.prompts import secret_input

Source = dict[str, Any]
REFUSED = "auth"
PLACES = {
    "bearer": {"in": "header", "name": "Authorization", "template": "Bearer {token}"},
    "basic": {"in": "header", "name": "Authorization", "template": "Basic {basic}"},
}
INPUTS = {
    "bearer": [{"name": "token", "label": "token", "secret": True}],
    "basic": [
        {"name": "username", "label": "user name", "secret": False},
        {"name": "password", "label": "password", "secret": True},
    ],
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """`credential` was given by an option. `asks`: someone is here who can be asked for one; `opens` a browser."""

    credential: dict[str, Any] | None = None
    asks: bool = False
    opens: bool = True

    @classmethod
    def read(cls, given: dict[str, Any], *, asks: bool) -> Wanted:
        """Values come from a prompt, from standard input, or from a stored secret, and never from arguments."""
        scheme, secret = given["scheme"], given["secret"]
        if secret and scheme != "bearer":
            raise InvalidRequest("--secret needs --bearer", hint="for other forms, see `executor connections add`")
        credential: dict[str, Any] | None = None
        if scheme and secret:
            credential = {"placements": [PLACES[scheme]], "secrets": {"token": secret}}
        elif scheme:
            credential = {"placements": [PLACES[scheme]], "values": secret_input.inputs(INPUTS[scheme])}
        return cls(credential, asks, not given["no_open"])


def connect(client: Client, source: Source, wanted: Wanted, refresh: Callable[[], Source]) -> Source:
    """With the credential that was given, or one that someone enters because nothing can be read without it."""
    if wanted.credential is not None:
        client.post("/v1/connections", {"source": source["namespace"], **wanted.credential})
        source = {**source, **refresh()} if source["unread"] else source
    return ask_until_read(client, source, refresh, opens=wanted.opens) if wanted.asks else source


def ask_until_read(client: Client, source: Source, refresh: Callable[[], Source], *, opens: bool) -> Source:
    """Ask until it can be read, or until nothing is entered. Returns the source as it is then."""
    while source["unread"]:
        if not _give(client, source, opens=opens):
            return source
        try:
            source = {**source, **refresh()}
        except DaemonUnreachable:
            raise
        except ExecutorError as error:
            show_error(error)
            if error.details.get("reason") != REFUSED:
                return source
    return source


def say_how_to_connect(source: Source) -> None:
    """For a script, or for later."""
    name = clean(source["namespace"])
    act = "login" if is_login(source) else "add"
    say(f"{clean(source['error'])}")
    say("its tools can be read once it has a credential:")
    say(f"  {program()} connections {act} {name}")


def is_login(source: Source) -> bool:
    return bool(source["auth"]) and source["auth"][0]["type"] in ("oauth2", "openIdConnect")


def _give(client: Client, source: Source, *, opens: bool) -> bool:
    """False if it was left for later."""
    say(clean(source["error"]))
    offered = client.get(f"/v1/sources/{segment(source['namespace'])}/ways")
    ways = offered["items"]
    if not ways:
        return False
    if ways[0].get("oauth") is not None:
        return _log_in(client, source, opens=opens)
    way = secret_input.choose_way(ways, None)
    secret_input.explain_way(way, offered["sentTo"])
    values = secret_input.inputs_or_none(way["inputs"], "Enter to connect it without")
    if values:
        body = {"source": source["namespace"], "way": way["name"], "values": values, "replace": True}
        client.post("/v1/connections", body)
    return bool(values)


def _log_in(client: Client, source: Source, *, opens: bool) -> bool:
    body = connections_login.request_for(source["namespace"])
    try:
        connections_login.log_in_here(client, body, opens=opens)
    except KeyboardInterrupt:
        say()
        return False
    except OAuthFailed as error:
        show_error(error)
        return False
    return True
