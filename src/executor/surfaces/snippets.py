"""Text to paste: how each MCP client is connected to this daemon. The CLI, the web UI and the docs show the same.

Everything a client needs is in it, since clients start a server without most of the user's environment.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from executor.settings import Settings

TOKEN: Final = "YOUR_AGENT_TOKEN"  # noqa: S105 - a placeholder for the token, until there is one
CALL_SECONDS: Final = 120  # an answer comes after 50 seconds at the latest

Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Snippet:
    """`stdio` lets the client start `executor mcp`, `http` lets it send requests; None where that is not possible."""

    id: str
    name: str
    place: str
    stdio: str | None
    http: str | None


def bridge_command(settings: Settings, agent: str = "", environ: Mapping[str, str] = os.environ) -> list[str]:
    """`executor mcp` of this installation, whatever environment it is started in."""
    options = {
        "--agent": agent,
        "--data-dir": settings.data_dir,
        "--state-dir": settings.state_dir if settings.state_dir != settings.data_dir / "state" else "",
        "--config": settings.config_file if settings.config_file.exists() else "",
        "--port": settings.port,
    }
    given = [(name, str(value)) for name, value in options.items() if value != ""]
    return [*_program(environ), "mcp", *(word for pair in given for word in pair)]


def snippets(command: Sequence[str] | None, address: str, token: str = TOKEN) -> list[Snippet]:
    """Without a `command` only those for HTTP: no one can start a program on a machine that is not theirs."""
    url, headers = f"{address}/mcp", {"Authorization": f"Bearer {token}"}
    start: Table = {"command": command[0], "args": list(command[1:])} if command else {}
    remote: Table = {"url": url, "headers": headers}
    waits = {"timeout": CALL_SECONDS * 1000, "trust": True}
    found = [
        _claude(command, url, token),
        _codex(start, {"url": url, "http_headers": headers}),
        _json("cursor", "Cursor", "~/.cursor/mcp.json", "mcpServers", start, remote),
        _json(
            "vscode",
            "VS Code",
            ".vscode/mcp.json",
            "servers",
            {"type": "stdio", **start} if start else {},
            {"type": "http", **remote},
        ),
        _json(
            "gemini",
            "Gemini CLI",
            "~/.gemini/settings.json",
            "mcpServers",
            {**start, **waits} if start else {},
            {"httpUrl": url, "headers": headers, **waits},
        ),
        _json(
            "opencode",
            "OpenCode",
            "~/.config/opencode/opencode.json",
            "mcp",
            {"type": "local", "command": list(command or ()), "enabled": True} if command else {},
            {"type": "remote", **remote, "enabled": True},
        ),
        _json("desktop", "Claude Desktop", "claude_desktop_config.json", "mcpServers", start, {}),
        Snippet(
            "other",
            "Other clients",
            "The command or the address, and the header",
            shlex.join(command) if command else None,
            f"{url}\nAuthorization: Bearer {token}",
        ),
    ]
    return [one for one in found if one.stdio or one.http]


def _claude(command: Sequence[str] | None, url: str, token: str) -> Snippet:
    add = "claude mcp add --scope user"
    stdio = f"{add} executor -- {shlex.join(command)}" if command else None
    http = f"{add} --transport http executor {shlex.quote(url)} --header 'Authorization: Bearer {token}'"
    return Snippet("claude", "Claude Code", "Run in a terminal", stdio, http)


def _codex(start: Table, remote: Table) -> Snippet:
    """Codex asks before each call, and refuses it where it can't ask; here Executor is what asks."""
    more = {"tool_timeout_sec": CALL_SECONDS, "default_tools_approval_mode": "approve"}

    def toml(table: Table) -> str:
        return "\n".join(["[mcp_servers.executor]", *(f"{name} = {_toml(value)}" for name, value in table.items())])

    place = "Add to ~/.codex/config.toml"
    return Snippet("codex", "Codex", place, toml({**start, **more}) if start else None, toml({**remote, **more}))


def _json(name: str, title: str, file: str, key: str, start: Table, remote: Table) -> Snippet:
    def text(entry: Table) -> str | None:
        line = json.dumps(entry, ensure_ascii=False)
        return f'{{\n  "{key}": {{\n    "executor": {line}\n  }}\n}}' if entry else None

    return Snippet(name, title, f"Add to {file}", text(start), text(remote))


def _toml(value: Any) -> str:
    """Text, numbers and lists are written as in JSON."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "{ " + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + " }"


def _program(environ: Mapping[str, str]) -> list[str]:
    """By its whole path. EXECUTOR_PROGRAM is how a checkout's script was called."""
    called = environ.get("EXECUTOR_PROGRAM", "")
    if "/" in called and os.access(called, os.X_OK):
        return [str(Path(called).absolute())]
    installed = Path(sys.executable).with_name("executor")
    return [str(installed)] if os.access(installed, os.X_OK) else [sys.executable, "-P", "-m", "executor"]
