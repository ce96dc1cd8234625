from __future__ import annotations

import json
from typing import Any

import click

from executor.errors import InvalidRequest
from executor.settings import Settings
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit, emit_json, say, table

ACTIONS = ("allow", "require_approval", "deny")


@click.group("policies", cls=SuggestingGroup, help=COMMANDS["policies"])
def command() -> None: ...


@command.command("list")
@json_option
def listing(as_json: bool) -> None:
    """List the rules in their order."""
    page = connect(Settings.load()).get("/v1/policies")
    if as_json:
        emit_json(page)
    elif page["items"]:
        emit(table(page["items"], {"position": "POSITION", "pattern": "PATTERN", "action": "ACTION", "id": "ID"}))
    else:
        say("no rules: reads are allowed, everything else needs approval")


@command.command("add")
@click.argument("pattern")
@click.argument("action", type=click.Choice(ACTIONS))
@click.option("--position", type=click.IntRange(min=0), help="Its place in the order; last if not given.")
@json_option
def add(pattern: str, action: str, position: int | None, as_json: bool) -> None:
    """Add a rule: PATTERN is a path, `*` for one part, `.**` for all below."""
    body: dict[str, Any] = {"pattern": pattern, "action": action}
    if position is not None:
        body["position"] = position
    policy = connect(Settings.load()).post("/v1/policies", body)
    if as_json:
        emit_json(policy)
    else:
        emit(f"added {clean(policy['id'])}: {clean(policy['pattern'])} → {clean(policy['action'])}")


@command.command("remove")
@click.argument("policy_id", metavar="ID")
@json_option
def remove(policy_id: str, as_json: bool) -> None:
    """Remove a rule."""
    answer = connect(Settings.load()).delete(f"/v1/policies/{segment(policy_id)}")
    if as_json:
        emit_json(answer or {"removed": policy_id})
    else:
        emit(f"removed {clean(policy_id)}")


@command.command("test")
@click.argument("path")
@click.option("--arguments", metavar="JSON", help="The arguments of the call.")
@json_option
def test(path: str, arguments: str | None, as_json: bool) -> None:
    """Show what the rules say about a tool; nothing is called."""
    body: dict[str, Any] = {"path": path}
    if arguments is not None:
        body["arguments"] = _parsed(arguments)
    decision = connect(Settings.load()).post("/v1/policies/test", body)
    if as_json:
        emit_json(decision)
    else:
        emit(f"{clean(decision['action'])}: {clean(decision.get('reason', ''))}")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"--arguments is not JSON: {error}", hint="quote it: --arguments '{}'") from error
