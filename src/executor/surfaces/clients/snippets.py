"""Text to paste: how each MCP client is connected to this daemon. The CLI, the web UI and the docs show the same.

Everything a client needs is in it, since clients start a server without most of the user's environment.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from executor.dataclass import dataclass
from executor.settings import Settings
from executor.surfaces.clients.table import CLIENTS, McpClient, Table
from executor.surfaces.http.mcp_paths import TOOLKITS

TOKEN: Final = "YOUR_AGENT_TOKEN"  # noqa: S105 - a placeholder for the token, until there is one


@dataclass(frozen=True, slots=True)
class Snippet:
    """`stdio` lets the client start `executor mcp`, `http` lets it send requests; None where that is not possible.

    The entries are what the client's file takes, `install` is a link that the client itself opens.
    """

    id: str
    name: str
    place: str
    stdio: str | None
    http: str | None
    stdio_entry: Table | None = None
    http_entry: Table | None = None
    install: str | None = None


def bridge_command(
    settings: Settings, agent: str = "", environ: Mapping[str, str] = os.environ, *, toolkit: str = ""
) -> list[str]:
    """`executor mcp` of this installation, whatever environment it is started in."""
    options = {
        "--agent": agent,
        "--toolkit": toolkit,
        "--data-dir": settings.data_dir,
        "--state-dir": settings.state_dir if settings.state_dir != settings.data_dir / "state" else "",
        "--config": settings.config_file if settings.config_file.exists() else "",
        "--port": settings.port,
    }
    given = [(name, str(value)) for name, value in options.items() if value != ""]
    return [*_program(environ), "mcp", *(word for pair in given for word in pair)]


def snippets(command: Sequence[str] | None, address: str, token: str = TOKEN, *, toolkit: str = "") -> list[Snippet]:
    """Without a `command` only those for HTTP: no one can start a program on a machine that is not theirs."""
    url = f"{address}{TOOLKITS}{toolkit}" if toolkit else f"{address}/mcp"
    found = [_snippet(client, command, url, token) for client in CLIENTS]
    other = Snippet(
        "other",
        "Other clients",
        "The command or the address, and the header",
        shlex.join(command) if command else None,
        f"{url}\nAuthorization: Bearer {token}",
    )
    return [one for one in (*found, other) if one.stdio or one.http]


def _snippet(client: McpClient, command: Sequence[str] | None, url: str, token: str) -> Snippet:
    stdio = client.stdio_entry(command) if command else None
    http = client.http_entry(url, {"Authorization": f"Bearer {token}"})
    if client.id == "claude-code":
        place, texts = "Run in a terminal", _claude(command, url, token)
    else:
        place, texts = f"Add to {client.place}", (_text(client, stdio), _text(client, http))
    return Snippet(client.id, client.name, place, *texts, stdio, http, _install_link(client, stdio))


def _claude(command: Sequence[str] | None, url: str, token: str) -> tuple[str | None, str | None]:
    add = "claude mcp add --scope user"
    stdio = f"{add} executor -- {shlex.join(command)}" if command else None
    http = f"{add} --transport http executor {shlex.quote(url)} --header 'Authorization: Bearer {token}'"
    return stdio, http


def _text(client: McpClient, entry: Table | None) -> str | None:
    """As the client's file would be if nothing else were in it."""
    if entry is None:
        return None
    if client.is_toml:
        return "\n".join([f"[{client.key}.executor]", *(f"{name} = {toml(value)}" for name, value in entry.items())])
    line = json.dumps(entry, ensure_ascii=False)
    return f'{{\n  "{client.key}": {{\n    "executor": {line}\n  }}\n}}'


def _install_link(client: McpClient, entry: Table | None) -> str | None:
    """Only for stdio: a link must not contain a token."""
    if entry is None:
        return None
    if client.id == "cursor":
        config = quote(b64encode(json.dumps(entry).encode()), safe="")
        return f"cursor://anysphere.cursor-deeplink/mcp/install?name=executor&config={config}"
    if client.id == "vscode":
        return f"vscode:mcp/install?{quote(json.dumps({'name': 'executor', **entry}), safe='')}"
    return None


def toml(value: Any) -> str:
    """Text, numbers and lists are written as in JSON."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "{ " + ", ".join(f"{name} = {toml(one)}" for name, one in value.items()) + " }"


def _program(environ: Mapping[str, str]) -> list[str]:
    """By its whole path. EXECUTOR_PROGRAM is how a checkout's script was called."""
    called = environ.get("EXECUTOR_PROGRAM", "")
    if "/" in called and os.access(called, os.X_OK):
        return [str(Path(called).absolute())]
    installed = Path(sys.executable).with_name("executor")
    return [str(installed)] if os.access(installed, os.X_OK) else [sys.executable, "-P", "-m", "executor"]
