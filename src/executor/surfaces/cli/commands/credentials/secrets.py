from __future__ import annotations

from typing import Any

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import clean, emit_page, emit_result
from executor.surfaces.cli.prompts import secret_input

PROVIDERS = ("store", "keyring", "environment", "vault", "onepassword")
OWN = ("store", "keyring")
COLUMNS = {
    "name": "NAME",
    "provider": "PROVIDER",
    "reference": "REFERENCE",
    "rotatedAt": "ROTATED",
    "lastUsedAt": "LAST USED",
    "users": "USED BY",
    "origins": "SENT TO",
}


command = group("secrets")


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
def set_(name: str, provider: str, reference: str, as_json: bool) -> None:
    """Store a secret as NAME. The value is prompted for, or read from standard input; never an argument."""
    body: dict[str, Any] = {"name": name, "provider": provider, "reference": reference}
    if provider in OWN:
        body["value"] = secret_input.whole_input(f"value of {name}")
    secret = connect().post("/v1/secrets", body)
    emit_result(secret, f"set {clean(secret['name'])} ({clean(secret['provider'])})", as_json)


@command.command("list")
def listing(as_json: bool) -> None:
    """List secrets and the sources that use them. Values are never shown."""
    page = connect().get("/v1/secrets")
    rows = [
        {**one, "users": ", ".join(user["source"] for user in one["usedBy"]), "origins": ", ".join(one["origins"])}
        for one in page["items"]
    ]
    emit_page(page, COLUMNS, as_json, rows=rows, empty="no secrets yet")


@command.command("rotate")
@click.argument("name")
@click.option("--reference", default="", help="For an external provider: reference of the new value.")
def rotate(name: str, reference: str, as_json: bool) -> None:
    """Set a new value for NAME. It is used from the next call on."""
    body = {"reference": reference} if reference else {"value": secret_input.whole_input(f"new value of {name}")}
    secret = connect().post(f"/v1/secrets/{segment(name)}/rotate", body)
    emit_result(secret, f"rotated {clean(secret['name'])}", as_json)


@command.command("allow-origin")
@click.argument("name")
@click.argument("origin")
def allow_origin(name: str, origin: str, as_json: bool) -> None:
    """Allow NAME to be sent to ORIGIN (https://host) too. A secret is bound to the origin of its first use."""
    secret = connect().post(f"/v1/secrets/{segment(name)}/origins", {"origin": origin})
    emit_result(secret, f"{clean(secret['name'])} may be sent to {clean(', '.join(secret['origins']))}", as_json)


@command.command("remove")
@click.argument("name")
@click.option(
    "--force", is_flag=True, help="Remove it even if connections use it. Their calls will need a new credential."
)
def remove(name: str, force: bool, as_json: bool) -> None:
    """Remove a secret."""
    query = "?force=true" if force else ""
    secret = connect().delete(f"/v1/secrets/{segment(name)}{query}")
    emit_result(secret, f"removed {clean(name)}", as_json)


@command.command("rotate-key")
def rotate_key(as_json: bool) -> None:
    """Re-encrypt everything with a new master key. Safe to interrupt."""
    done = connect().post("/v1/secrets/rotate-key")
    emit_result(
        done, f"re-encrypted {done['values']} values; a backup of the old key no longer opens this database", as_json
    )
