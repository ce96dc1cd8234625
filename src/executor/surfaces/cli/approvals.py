from __future__ import annotations

import json
from typing import Any

import click

from executor.errors import InvalidRequest
from executor.settings import Settings
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.decide import prompt, settle
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option, limit_option
from executor.surfaces.cli.output import clean, emit, emit_json, facts, program, say, table

STATUSES = ("pending", "approved", "denied", "expired", "cancelled", "superseded", "all")


@click.group("approvals", cls=SuggestingGroup, help=COMMANDS["approvals"])
def command() -> None: ...


@command.command("list")
@click.option("--status", type=click.Choice(STATUSES), default="pending", show_default=True, help="Only these.")
@click.option("--execution-id", metavar="ID", help="Only of this execution.")
@limit_option(50)
@json_option
def listing(status: str, execution_id: str | None, limit: int, as_json: bool) -> None:
    """List what waits for a person."""
    client = connect(Settings.load())
    wanted = None if status == "all" else status
    page = client.get("/v1/interactions", status=wanted, executionId=execution_id, limit=limit)
    if as_json:
        emit_json(page)
    elif page["items"]:
        columns = {"id": "ID", "kind": "KIND", "status": "STATUS", "tool": "TOOL", "effect": "EFFECT"}
        emit(table(page["items"], columns))
    else:
        say("nothing waits for a decision" if status == "pending" else "none")


@command.command("show")
@click.argument("interaction_id", metavar="ID")
@json_option
def show(interaction_id: str, as_json: bool) -> None:
    """Show one in full, as it is to be decided."""
    interaction = connect(Settings.load()).get(f"/v1/interactions/{segment(interaction_id)}")
    if as_json:
        emit_json(interaction)
        return
    emit(prompt(interaction))
    emit(_facts(interaction))
    if interaction.get("status") == "pending":
        say(f"to approve it:\n  {program()} approvals approve {clean(interaction['id'])}")
        say(f"to deny it:\n  {program()} approvals deny {clean(interaction['id'])}")


@command.command("approve")
@click.argument("interaction_id", metavar="ID")
@click.option("--result", metavar="JSON", help="For an unknown outcome: the result the call really had.")
@json_option
def approve(interaction_id: str, result: str | None, as_json: bool) -> None:
    """Approve this one call, once."""
    details = {} if result is None else {"result": _parsed(result)}
    _decided(settle(connect(Settings.load()), interaction_id, "approve", **details), as_json)


@command.command("deny")
@click.argument("interaction_id", metavar="ID")
@click.option("--reason", default="", help="Told to the code that made the call.")
@json_option
def deny(interaction_id: str, reason: str, as_json: bool) -> None:
    """Deny it; the code sees a typed error it can handle."""
    _decided(settle(connect(Settings.load()), interaction_id, "deny", reason=reason), as_json)


def _decided(interaction: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(interaction)
        return
    emit(f"{clean(interaction['status'])} {clean(interaction['id'])}: {clean(interaction.get('tool', ''))}")
    if execution_id := interaction.get("executionId"):
        say(f"to see how it goes on:\n  {program()} resume --execution-id {clean(execution_id)}")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"--result is not JSON: {error}", hint="quote it: --result '{\"id\": 1}'") from error


def _facts(interaction: dict[str, Any]) -> str:
    return facts(
        [
            ("id", interaction.get("id")),
            ("kind", interaction.get("kind")),
            ("status", interaction.get("status")),
            ("execution", interaction.get("executionId")),
            ("expires", interaction.get("expiresAt")),
            ("settled", interaction.get("settledAt")),
            ("decision", interaction.get("decisionReason")),
        ]
    )
