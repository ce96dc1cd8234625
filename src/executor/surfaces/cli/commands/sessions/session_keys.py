"""`sessions keys`: the keys for model providers that sessions use, and never see."""

from __future__ import annotations

from typing import Any

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.main import SuggestingGroup
from executor.surfaces.cli.output import clean, emit_page, emit_result
from executor.surfaces.cli.prompts import secret_input

PROVIDERS = ("anthropic", "openai", "gemini")
COLUMNS = {"provider": "PROVIDER", "scope": "SCOPE", "secret": "SECRET", "sentTo": "SENT TO", "createdAt": "SET"}

keys = SuggestingGroup("keys", help="Manage the keys for model providers (write-only).")
own_option = click.option("--own", is_flag=True, help="Only for your sessions. Default: the whole workspace.")


@keys.command("set")
@click.argument("provider", type=click.Choice(PROVIDERS))
@click.option("--secret", default="", metavar="NAME", help="Use this stored secret instead of a new value.")
@own_option
def set_(provider: str, secret: str, own: bool, as_json: bool) -> None:
    """Set the key for PROVIDER. It is prompted for, or read from standard input; never an argument."""
    body: dict[str, Any] = {"provider": provider, "scope": scope_of(own)}
    if secret:
        body["secret"] = secret
    else:
        body["value"] = secret_input.enter_secret(f"API key for {provider}")
    key = connect().post("/v1/model-keys", body)
    emit_result(key, f"set the {provider} key ({key['scope']}), sent to {clean(key['sentTo'])}", as_json)


@keys.command("list")
def listing(as_json: bool) -> None:
    """List which providers have a key. Values are never shown."""
    page = connect().get("/v1/model-keys")
    emit_page(page, COLUMNS, as_json, empty="no model keys yet")


@keys.command("rm")
@click.argument("provider", type=click.Choice(PROVIDERS))
@own_option
def remove(provider: str, own: bool, as_json: bool) -> None:
    """Remove the key for PROVIDER. Sessions that use it get no more answers."""
    connect().delete(f"/v1/model-keys/{segment(provider)}?scope={scope_of(own)}")
    emit_result({"provider": provider, "scope": scope_of(own)}, f"removed the {provider} key", as_json)


def scope_of(own: bool) -> str:
    return "actor" if own else "workspace"
