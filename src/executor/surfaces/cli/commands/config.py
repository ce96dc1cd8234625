from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from executor.errors import Conflict, InvalidRequest
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.client import connect
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import clean, count, emit, emit_json, interactive, say, with_program

APPLY_SECONDS = 600.0
SIGNS = {"add": "+", "change": "~", "replace": "±", "remove": "-", "none": "=", "waiting": "?", "dropped": "!"}
NOTES = {"dropped": "no longer declared; it stays, `--prune` removes it", "waiting": "not a member yet"}
GONE = ("dropped", "remove")  # not in this file
file_argument = click.argument("file", required=False, type=click.Path(path_type=Path))
prune_option = click.option("--prune", is_flag=True, help="Remove what was declared before and no longer is.")


command = group("config")


@command.command("check")
@file_argument
def check(file: Path | None, as_json: bool) -> int:
    """Check a configuration. Exits with 1 if something in it is wrong."""
    plan = connect().post("/v1/configuration/plan", read_file(file))
    if as_json:
        emit_json({"problems": plan["problems"]})
    else:
        show_problems(plan)
        valid = sum(one["action"] not in GONE for one in plan["changes"])
        say(f"{count(valid, 'valid entry', 'valid entries')}, {count(len(plan['problems']), 'problem', 'problems')}")
    return exit_code(plan)


@command.command("diff")
@file_argument
@prune_option
def diff(file: Path | None, prune: bool, as_json: bool) -> int:
    """Show what applying a configuration would change."""
    plan = connect().post("/v1/configuration/plan", {**read_file(file), "prune": prune})
    if as_json:
        emit_json(plan)
    else:
        show_changes(plan)
        show_problems(plan)
    return exit_code(plan)


@command.command("apply")
@file_argument
@prune_option
@click.option("--yes", is_flag=True, help="Apply without asking, including the commands that the file runs.")
def apply(file: Path | None, prune: bool, yes: bool, as_json: bool) -> int:
    """Show what a configuration changes, then apply it. Exits with 1 if an entry is wrong or fails."""
    client, text = connect(), read_file(file)
    plan = client.post("/v1/configuration/plan", {**text, "prune": prune})
    if not as_json:
        show_changes(plan)
        show_problems(plan)
    if any(one["action"] in ("add", "change", "replace", "remove") for one in plan["changes"]):
        if not yes:
            if as_json or not interactive():
                raise InvalidRequest("applying needs your consent", hint="look at the changes, then repeat with --yes")
            click.confirm("apply these changes?", abort=True, err=True)
        if read_file(file) != text:
            raise Conflict(f"{file} changed after its differences were shown", hint="nothing was applied; start again")
        agreed = {"prune": prune, "consent": True, "expected": plan["digest"]}
        plan = client.post("/v1/configuration/apply", {**text, **agreed}, seconds=APPLY_SECONDS)
        if not as_json:
            show_outcome(plan)
    elif not as_json:
        say("nothing to change")
    if as_json:
        emit_json(plan)
    return exit_code(plan)


def read_file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InvalidRequest(f"{file} can't be read: {reason}", hint="check the path") from error
    return {"text": text, "name": str(file), "folder": str(file.absolute().parent)}


def show_changes(plan: dict[str, Any]) -> None:
    for one in plan["changes"]:
        if one["action"] != "none":
            note = f"  ({NOTES[one['action']]})" if one["action"] in NOTES else ""
            emit(f"{SIGNS[one['action']]} {one['noun']} {clean(one['name'])}{note}")
            for line in one["details"]:
                emit(f"    {clean(with_program(line))}")


def show_problems(plan: dict[str, Any]) -> None:
    for one in plan["problems"]:
        say(f"error: {clean(one['place'])}: {clean(one['message'])}")
        if one["hint"]:
            say(f"hint: {clean(with_program(one['hint']))}")


def show_outcome(applied: dict[str, Any]) -> None:
    failed = [one for one in applied["changes"] if one["error"]]
    for one in failed:
        say(f"error: {clean(one['place'])}: {clean(one['error'])}")
        if one["hint"]:
            say(f"hint: {clean(with_program(one['hint']))}")
    done = sum(SIGNS[one["action"]] in "+~±-" for one in applied["changes"]) - len(failed)
    say(f"applied {count(done, 'change', 'changes')}" + (f", {len(failed)} failed" if failed else ""))


def exit_code(plan: dict[str, Any]) -> int:
    wrong = plan["problems"] or any(one.get("error") for one in plan["changes"])
    return exit_codes.FAILED if wrong else exit_codes.COMPLETED
