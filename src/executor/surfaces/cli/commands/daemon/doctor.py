from __future__ import annotations

from typing import Any

import click

from executor.errors import ExecutorError
from executor.settings import Settings
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit_result, with_program

MARKS = {"ok": "ok     ", "warning": "warning", "failure": "FAILURE"}


@click.command("doctor", help=COMMANDS["doctor"])
@json_option
def command(as_json: bool) -> int:
    """Works without a daemon, and asks a running one for what only it can see."""
    from executor.daemon.doctor import checks as doctor

    checks = [check.to_dict() for check in doctor.examine()]
    known = {check["name"] for check in checks}
    checks += [check for check in _from_daemon() if check.get("name") not in known]
    return show_checks(checks, as_json)


def show_checks(checks: list[dict[str, Any]], as_json: bool) -> int:
    failed = any(check["status"] == "failure" for check in checks)
    emit_result(
        {"ok": not failed, "checks": checks}, "\n".join(line for check in checks for line in _lines(check)), as_json
    )
    return exit_codes.FAILED if failed else exit_codes.COMPLETED


def _from_daemon() -> list[dict[str, Any]]:
    from executor.surfaces.cli.client import connect_if_running

    try:
        client = connect_if_running(Settings.load())
        return list(client.get("/v1/doctor", seconds=30.0)["checks"]) if client else []
    except ExecutorError as error:
        return [{"name": "daemon answers", "status": "failure", "message": error.message, "hint": error.hint}]


def _lines(check: dict[str, Any]) -> list[str]:
    lines = [f"{MARKS.get(check['status'], clean(check['status']))}  {clean(check['name'])}: {clean(check['message'])}"]
    if check.get("hint") and check["status"] != "ok":
        lines.append(f"         {clean(with_program(check['hint']))}")
    return lines
