from __future__ import annotations

from typing import Any

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import clean, emit_json, emit_page, emit_result, say

COLUMNS = {
    "of": "OF",
    "id": "ID",
    "name": "NAME",
    "running": "RUNNING",
    "queued": "QUEUED",
    "perMinute": "PER MINUTE",
    "weight": "WEIGHT",
    "priority": "PRIORITY",
}
NUMBER = "N|none|default"
BOUND = ("running", "queued", "perMinute")


class Limit(click.ParamType[int | None]):
    """A number; `none` for no limit; `default` for what the settings say."""

    name = NUMBER

    def __init__(self, least: int) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if value == "default":
            return None
        if value == "none" and not self._least:
            return 0
        if str(value).isascii() and str(value).isdigit() and int(value) >= max(1, self._least):
            return int(value)
        words = "a number from 1, or `default`" if self._least else "a number from 1, `none` or `default`"
        return self.fail(f"{value!r} is not {words}.", param, ctx)


command = group("limits")


@command.command("list")
def listing(as_json: bool) -> None:
    """Show the limits of the workspace, and of actors that have their own."""
    page = connect().get("/v1/limits")
    rows = [_row("workspace", page["workspace"]), *(_row("actor", one) for one in page["actors"])]
    default = {"id": "", "name": "", "limits": page["defaults"]["actor"]}
    rows.append(_row("other actors", default))
    if as_json:
        emit_json(page)
    else:
        emit_page({"items": rows}, COLUMNS, as_json=False, rows=rows)


@command.command("set")
@click.option("--actor", metavar="ACTOR", help="An actor of this workspace, by name or ID.")
@click.option("--workspace", metavar="ID", help="A workspace of this installation. Only the operator may do this.")
@click.option("--running", type=Limit(0), metavar=NUMBER, help="How many executions may run at once.")
@click.option("--queued", type=Limit(0), metavar=NUMBER, help="How many may wait.")
@click.option(
    "--per-minute", "perMinute", type=Limit(0), metavar=NUMBER, help="How many may be submitted within a minute."
)
@click.option(
    "--weight", type=Limit(1), metavar="N|default", help="The share when others wait too: 3 is three times 1."
)
@click.option(
    "--priority",
    type=click.Choice(["high", "normal", "low", "default"]),
    help="The highest priority of an actor's executions.",
)
def change(actor: str | None, workspace: str | None, as_json: bool, **given: Any) -> None:
    """Set limits of an actor or a workspace. What you leave out stays as it is."""
    if (actor is None) == (workspace is None):
        raise click.UsageError("Pass either --actor or --workspace.")
    source = click.get_current_context()
    changes = {name: value for name, value in given.items() if _is_given(source, name)}
    if not changes:
        raise click.UsageError("Pass at least one limit, such as --running 5.")
    if workspace is not None and "priority" in changes:
        raise click.UsageError("--priority is for actors. Use --weight for the share of a workspace.")
    if changes.get("priority") == "default":
        changes["priority"] = None
    address = f"actors/{segment(actor)}" if actor is not None else f"workspaces/{segment(workspace or '')}"
    changed = connect().patch(f"/v1/limits/{address}", changes)
    emit_result(changed, f"{clean(changed['name'] or changed['id'])}: {describe(changed['limits'])}", as_json)
    if not as_json and changed["limits"]["running"] and changed["use"]["running"] > changed["limits"]["running"]:
        say("more than that are running now; they continue")


def _is_given(context: click.Context, name: str) -> bool:
    """Also where the value is None: that is the default of the settings."""
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def describe(limits: dict[str, Any]) -> str:
    words = {"running": "running", "queued": "queued", "perMinute": "per minute"}
    parts = [f"{limits[name] or 'any number'} {words[name]}" for name in BOUND]
    highest = [f"priority up to {limits['priority']}"] if "priority" in limits else []
    return ", ".join([*parts, f"weight {limits['weight']}", *highest])


def _row(of: str, one: dict[str, Any]) -> dict[str, Any]:
    """What is used of what there may be."""
    use = one.get("use", {})
    limits = {name: one["limits"][name] or "none" for name in BOUND}
    shown = {name: f"{use[name]} of {limits[name]}" if name in use else limits[name] for name in BOUND}
    rest = {"weight": one["limits"]["weight"], "priority": one["limits"].get("priority", "")}
    return {"of": of, "id": one["id"], "name": one["name"], **shown, **rest}
