from __future__ import annotations

from typing import Any

import click

from executor.daemon import control
from executor.daemon.local_credential import token
from executor.settings import Settings
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.client import Client
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import emit, emit_json, facts, say, with_program

ANSWER_SECONDS = 10.0
COUNTED = 10_000  # of each status; the daemon counts no further


@click.command("status", help=COMMANDS["status"])
@json_option
def command(as_json: bool) -> int:
    settings = Settings.load()
    presence = control.look(settings)
    if presence.running is None:
        return _absent(settings, presence.pid, as_json)
    answer = Client(settings, presence.running, token(settings)).get("/v1/status", seconds=ANSWER_SECONDS)
    if as_json:
        emit_json({"running": True, **answer, "dataDir": str(settings.data_dir), "logFile": str(settings.log_file)})
    else:
        emit(_text(answer, settings))
    return exit_codes.COMPLETED


def _absent(settings: Settings, pid: int | None, as_json: bool) -> int:
    state = "stopped" if pid is None else "starting"
    if as_json:
        emit_json({"running": False, "state": state, "pid": pid or None, "dataDir": str(settings.data_dir)})
    else:
        emit("not running" if pid is None else f"starting (process {pid})")
        say(with_program("`executor up` starts the daemon; so does `executor call`"))
    return exit_codes.UNREACHABLE


def _text(answer: dict[str, Any], settings: Settings) -> str:
    executions = ", ".join(
        f"{count}{'+' if count >= COUNTED else ''} {status}"
        for status, count in (answer.get("executions") or {}).items()
        if count
    )
    sandbox = answer.get("sandbox") or {}
    return facts(
        [
            ("running", f"{answer.get('address')} (process {answer.get('pid')}, version {answer.get('version')})"),
            ("on", f"Python {answer.get('python')}, {answer.get('database')}"),
            ("up for", _duration(answer.get("uptimeSeconds") or 0)),
            ("workspace", (answer.get("workspace") or {}).get("name")),
            ("sources", f"{answer.get('sources', 0)} with {answer.get('tools', 0)} tools"),
            ("executions", executions or "none"),
            ("sandbox", f"{sandbox.get('workers')} workers; {', '.join(map(str, sandbox.get('layers') or ()))}"),
            ("data", settings.data_dir),
            ("log", settings.log_file),
        ]
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
