from __future__ import annotations

from typing import Any

import click

from executor.settings import Settings
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit, emit_json, say, table
from executor.surfaces.cli.prompts import secret_input

PROVIDERS = ("store", "keyring", "environment", "vault", "onepassword")
OWN = ("store", "keyring")


@click.group("secrets", cls=SuggestingGroup, help=COMMANDS["secrets"])
def command() -> None: ...


@command.command("set")
@click.argument("name")
@click.option(
    "--provider", type=click.Choice(PROVIDERS), default="store", show_default=True, help="The provider that stores it."
)
@click.option(
    "--reference",
    default="",
    help="Reference in an external provider: a variable name, MOUNT/PATH#FIELD, op://VAULT/ITEM/FIELD.",
)
@json_option
def set_(name: str, provider: str, reference: str, as_json: bool) -> None:
    """Store a secret as NAME. The value is prompted for, or read from standard input; never an argument."""
    body: dict[str, Any] = {"name": name, "provider": provider, "reference": reference}
    if provider in OWN:
        body["value"] = secret_input.whole_input(f"value of {name}")
    secret = connect(Settings.load()).post("/v1/secrets", body)
    if as_json:
        emit_json(secret)
    else:
        emit(f"set {clean(secret['name'])} ({clean(secret['provider'])})")


@command.command("list")
@json_option
def listing(as_json: bool) -> None:
    """List secrets and the sources that use them. Values are never shown."""
    page = connect(Settings.load()).get("/v1/secrets")
    if as_json:
        emit_json(page)
    elif page["items"]:
        columns = {"name": "NAME", "provider": "PROVIDER", "reference": "REFERENCE", "rotatedAt": "ROTATED"}
        rows = [
            {
                **one,
                "users": ", ".join(user["source"] for user in one["usedBy"]),
                "origins": ", ".join(one["origins"]),
            }
            for one in page["items"]
        ]
        emit(table(rows, {**columns, "lastUsedAt": "LAST USED", "users": "USED BY", "origins": "SENT TO"}))
    else:
        say("no secrets yet")


@command.command("rotate")
@click.argument("name")
@click.option("--reference", default="", help="For an external provider: reference of the new value.")
@json_option
def rotate(name: str, reference: str, as_json: bool) -> None:
    """Set a new value for NAME. It is used from the next call on."""
    body = {"reference": reference} if reference else {"value": secret_input.whole_input(f"new value of {name}")}
    secret = connect(Settings.load()).post(f"/v1/secrets/{segment(name)}/rotate", body)
    if as_json:
        emit_json(secret)
    else:
        emit(f"rotated {clean(secret['name'])}")


@command.command("allow-origin")
@click.argument("name")
@click.argument("origin")
@json_option
def allow_origin(name: str, origin: str, as_json: bool) -> None:
    """Allow NAME to be sent to ORIGIN (https://host) too. A secret is bound to the origin of its first use."""
    secret = connect(Settings.load()).post(f"/v1/secrets/{segment(name)}/origins", {"origin": origin})
    if as_json:
        emit_json(secret)
    else:
        emit(f"{clean(secret['name'])} may be sent to {clean(', '.join(secret['origins']))}")


@command.command("remove")
@click.argument("name")
@click.option(
    "--force", is_flag=True, help="Remove it even if connections use it. Their calls will need a new credential."
)
@json_option
def remove(name: str, force: bool, as_json: bool) -> None:
    """Remove a secret."""
    query = "?force=true" if force else ""
    secret = connect(Settings.load()).delete(f"/v1/secrets/{segment(name)}{query}")
    if as_json:
        emit_json(secret)
    else:
        emit(f"removed {clean(name)}")


@command.command("rotate-key")
@json_option
def rotate_key(as_json: bool) -> None:
    """Re-encrypt everything with a new master key. Safe to interrupt."""
    done = connect(Settings.load()).post("/v1/secrets/rotate-key")
    if as_json:
        emit_json(done)
    else:
        emit(f"re-encrypted {done['values']} values; a backup of the old key no longer opens this database")
