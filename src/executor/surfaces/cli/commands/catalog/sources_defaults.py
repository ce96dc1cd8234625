"""`executor sources defaults`: what happens to calls of a source that no policy decides about."""

from __future__ import annotations

from typing import Any

import click

from executor.errors import InvalidRequest
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.output import emit, emit_json

EFFECTS = ("read", "write", "destructive")
UNSET = "unset"
DECISIONS = ("allow", "require_approval", "deny")
ACTIONS = click.Choice([*DECISIONS, UNSET])


@click.command("defaults")
@click.argument("source", metavar="NAMESPACE")
@click.option("--read", type=ACTIONS, help="What happens to reads. `unset` goes back to the built-in default.")
@click.option("--write", type=ACTIONS, help="What happens to writes.")
@click.option("--destructive", type=ACTIONS, help="What happens to destructive calls.")
def defaults(source: str, as_json: bool, **given: str | None) -> None:
    """Show or set the approval defaults of a source.

    They decide about calls that no policy of the organization or workspace decides about. Options that you leave out
    don't change.
    """
    client, path = connect(), f"/v1/sources/{segment(source)}/defaults"
    present = client.get(path)
    chosen = {effect: action for effect, action in given.items() if action is not None}
    if chosen:
        kept = {effect: present[effect] for effect in EFFECTS} | chosen
        body = {effect: None if action == UNSET else action for effect, action in kept.items()}
        present = dict(client.request("PUT", path, body))
    if as_json:
        emit_json(present)
        return
    for effect in EFFECTS:
        emit(describe_default(effect, present))


def describe_default(effect: str, defaults: dict[str, Any]) -> str:
    built_in = "" if defaults[effect] else "  (built-in default)"
    return f"{effect:<12} {defaults['inForce'][effect]}{built_in}"


def read_defaults(texts: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in texts:
        effect, _, action = text.partition("=")
        if effect not in EFFECTS or action not in DECISIONS:
            hint = f"effects: {', '.join(EFFECTS)}; actions: {', '.join(DECISIONS)}"
            raise InvalidRequest(f"--default takes EFFECT=ACTION, not {text!r}", hint=hint)
        found[effect] = action
    return found
