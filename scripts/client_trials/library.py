"""Libraries that a program uses to speak MCP, and programs without a model: the script calls the tools itself.

Each runs in an environment of its own and is driven line by line (`libraries/`), except the Inspector, which is a
process for each call.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from client_trials.clients import HERE, Place, run_or_exit, server_in
from client_trials.script import DONE, Script

# What is installed for each, and the package whose version counts.
PYPI = {
    "mcp-1": "mcp<2",
    "mcp-2": "mcp>=2",
    "fastmcp": "fastmcp",
    "pydantic-ai": "pydantic-ai-slim[mcp]",
    "langchain": "langchain-mcp-adapters",
}
NPM = {
    "typescript": "@modelcontextprotocol/sdk",
    "mcp-remote": "mcp-remote",
    "inspector": "@modelcontextprotocol/inspector",
}
LIBRARIES = (*PYPI, *NPM)
TRANSPORTS = {"mcp-remote": ("http",)}  # others have both; this one leads from stdio to HTTP


class Session(Protocol):
    tools: list[str]
    instructions: str

    def call(self, tool: str, arguments: dict[str, Any]) -> str: ...


def install(library: str, directory: Path) -> str:
    """Its version. Installed once, in a directory of its own."""
    place = directory / library
    place.mkdir(parents=True, exist_ok=True)
    if library in PYPI:
        return _from_pypi(PYPI[library], place)
    packages = [NPM[library], NPM["typescript"]] if library == "mcp-remote" else [NPM[library]]
    if not (place / "node_modules" / packages[0]).exists():
        (place / "package.json").write_text('{"private": true}')
        run_or_exit(["npm", "install", "--no-audit", "--no-fund", *(f"{one}@latest" for one in packages)], place)
    about = json.loads((place / "node_modules" / packages[0] / "package.json").read_text())
    return f"{packages[0]} {about['version']}"


def _from_pypi(wanted: str, place: Path) -> str:
    python = place / "venv" / "bin" / "python"
    if not python.exists():
        run_or_exit([sys.executable, "-m", "venv", str(place / "venv")], place)
        run_or_exit([str(python), "-m", "pip", "install", "-q", wanted], place)
    name = wanted.split("[")[0].split("<")[0].split(">")[0]
    code = f"import importlib.metadata as m; print({name!r}, m.version({name!r}))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def play(library: str, place: Place, script: Script) -> str:
    """What a model would do, call by call. Ends with the script's last words."""
    with connect(library, place) as session:
        while (turn := script.next_turn(session.tools, script.results, session.instructions)).tool:
            script.results.append(session.call(turn.tool, turn.arguments))
    return turn.text if turn.text.startswith(DONE) else f"ended early: {turn.text}"


@contextmanager
def connect(library: str, place: Place) -> Iterator[Session]:
    if library == "inspector":
        yield Inspector(place)
        return
    with subprocess.Popen(
        command_of(library, place), cwd=place.home, env=place.environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as child:  # fmt: skip
        try:
            yield Driven(child)
        finally:
            child.kill()


def command_of(library: str, place: Place) -> list[str]:
    server = server_in(place)
    if library in PYPI:
        python = place.install / "venv" / "bin" / "python"
        return [str(python), str(HERE / "libraries" / "python_clients.py"), library, json.dumps(server)]
    program = place.install / "typescript_client.mjs"  # beside its packages, where Node looks for them
    program.write_text((HERE / "libraries" / "typescript_client.mjs").read_text())
    if library == "mcp-remote":
        [(name, value)] = server["headers"].items()
        server = {"command": "mcp-remote", "args": [server["url"], "--header", f"{name}:{value}", "--allow-http"]}
    return ["node", str(program), json.dumps(server)]


class Driven:
    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child
        first = self._read()
        self.tools: list[str] = first["tools"]
        self.instructions: str = first["instructions"]

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps({"tool": tool, "arguments": arguments}) + "\n")
        self._child.stdin.flush()
        return str(self._read()["text"])

    def _read(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise SystemExit(f"the client ended with {self._child.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found


class Inspector:
    """The command line of the MCP Inspector."""

    instructions = ""  # it prints none

    def __init__(self, place: Place) -> None:
        self._place = place
        config = place.home / "inspector.json"
        server = server_in(place)
        config.write_text(json.dumps({"mcpServers": {"executor": self._entry(server)}}))
        self._head = ["mcp-inspector", "--cli", "--config", str(config), "--server", "executor"]
        self.tools = [tool["name"] for tool in self._run("--method", "tools/list")["tools"]]

    def _entry(self, server: dict[str, Any]) -> dict[str, Any]:
        return server if "command" in server else {"type": "streamable-http", **server}

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        given = [f"{name}={value}" for name, value in arguments.items()]
        words = [
            "--method",
            "tools/call",
            "--tool-name",
            tool,
            *(word for one in given for word in ("--tool-arg", one)),
        ]
        return "\n".join(part.get("text", "") for part in self._run(*words)["content"])

    def _run(self, *words: str) -> Any:
        output = self._place.run(*self._head, *words)
        try:
            return json.loads(output[output.index("{") :])  # behind what the server writes to standard error
        except ValueError:
            raise SystemExit(f"the Inspector printed no JSON:\n{output[-2000:]}") from None
