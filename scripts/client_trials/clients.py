"""How each client is installed, configured by `executor connect`, asked which servers it has, and given one task."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TASK = "Refund 5 of invoice inv_1003 with Executor."
HERE = Path(__file__).parent
SECONDS = 240
LISTED = "-- servers --\n"
NPM = {
    "claude": ["@anthropic-ai/claude-code"],
    "codex": ["@openai/codex"],
    "gemini": ["@google/gemini-cli"],
    "opencode": ["opencode-ai"],
    "vercel": ["ai", "@ai-sdk/mcp", "@ai-sdk/openai-compatible"],
}
SCRIPTS = {"claude": "@anthropic-ai/claude-code/install.cjs", "opencode": "opencode-ai/postinstall.mjs"}
AGENTS = {"claude": "claude-code", "codex": "codex", "gemini": "gemini", "opencode": "opencode"}
WITHOUT_FILE = ("vercel", "openai-agents", "openai-agents-default")


@dataclass(frozen=True)
class Place:
    """One trial: a home of its own, and the model's address. `connect` has `executor connect` change the client's file;
    `text` is for clients without one."""

    install: Path
    home: Path
    text: str
    model: str
    transport: str
    connect: Callable[[Path], None]

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the caller's but what finds programs."""
        path = f"{self.install / 'node_modules' / '.bin'}:{os.environ['PATH']}"
        return {"HOME": str(self.home), "PATH": path, "TERM": "dumb", "LANG": "C.UTF-8"}

    def run(self, *words: str, **environment: str) -> str:
        done = subprocess.run(
            words,
            cwd=self.home,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
        return done.stdout.decode(errors="replace")

    def list(self, *words: str) -> str:
        """What the client says of its servers."""
        return f"{LISTED}{self.run(*words)}{LISTED}\n"

    def write(self, name: str, content: str) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def claude(place: Place) -> str:
    place.write(".claude/settings.json", json.dumps({"permissions": {"allow": ["mcp__executor"]}}))
    place.connect(place.home)
    model = {"ANTHROPIC_BASE_URL": place.model, "ANTHROPIC_API_KEY": "scripted"}
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return place.list("claude", "mcp", "list") + place.run("claude", "-p", TASK, **model, **quiet)


def codex(place: Place) -> str:
    provider = f'name = "scripted"\nbase_url = "{place.model}/v1"\nwire_api = "responses"\n'
    first = 'model = "scripted" # a comment\nmodel_provider = "scripted"\n'
    place.write(".codex/config.toml", f"{first}\n[model_providers.scripted]\n{provider}")
    place.connect(place.home)
    return place.list("codex", "mcp", "list") + place.run("codex", "exec", "--skip-git-repo-check", TASK)


def gemini(place: Place) -> str:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    place.write(".gemini/settings.json", json.dumps(settings))
    place.write(".gemini/trustedFolders.json", json.dumps({str(place.home): "TRUST_FOLDER"}))
    place.connect(place.home)
    listed = place.list("gemini", "mcp", "list")
    return listed + place.run("gemini", "-p", TASK, GEMINI_API_KEY="scripted", GOOGLE_GEMINI_BASE_URL=place.model)


def opencode(place: Place) -> str:
    options = {"baseURL": f"{place.model}/v1", "apiKey": "scripted"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": {"name": "scripted"}}}
    settings = json.dumps({"provider": {"scripted": provider}}, indent=2)
    place.write(".config/opencode/opencode.jsonc", f"// a comment\n{settings}\n")
    place.connect(place.home)
    return place.list("opencode", "mcp", "list") + place.run("opencode", "run", "-m", "scripted/scripted", TASK)


def vercel(place: Place) -> str:
    program = place.install / "vercel.mjs"
    program.write_text((HERE / "vercel.mjs").read_text())
    return place.run("node", str(program), place.model, json.dumps(server_in(place)), TASK)


def openai_agents(place: Place, seconds: str = "120") -> str:
    python = place.install / "venv" / "bin" / "python"
    server = json.dumps(server_in(place))
    return place.run(str(python), str(HERE / "openai_agents.py"), place.model, server, seconds, TASK)


def server_in(place: Place) -> dict[str, Any]:
    """What the text for any other client says: a command, or an address and a header."""
    if place.transport == "stdio":
        command, *arguments = shlex.split(place.text)
        return {"command": command, "args": arguments}
    address, header = place.text.splitlines()
    name, _, value = header.partition(": ")
    return {"url": address, "headers": {name: value}}


CLIENTS: dict[str, Callable[[Place], str]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "vercel": vercel,
    "openai-agents": openai_agents,
    "openai-agents-default": lambda place: openai_agents(place, ""),
}


def install(client: str, directory: Path) -> str:
    """Its version. Installed once, in a directory of its own."""
    name = client.removesuffix("-default")
    place = directory / name
    place.mkdir(parents=True, exist_ok=True)
    if name == "openai-agents":
        return _from_pypi(place)
    packages = NPM[name]
    if not (place / "node_modules" / packages[0]).exists():
        (place / "package.json").write_text('{"private": true}')
        run_or_exit(["npm", "install", "--no-audit", "--no-fund", *(f"{one}@latest" for one in packages)], place)
        if name in SCRIPTS:
            script = place / "node_modules" / SCRIPTS[name]
            run_or_exit(["node", script.name], script.parent)
    found = [json.loads((place / "node_modules" / one / "package.json").read_text())["version"] for one in packages]
    return ", ".join(f"{one} {version}" for one, version in zip(packages, found, strict=True))


def _from_pypi(place: Path) -> str:
    python = place / "venv" / "bin" / "python"
    if not python.exists():
        run_or_exit([sys.executable, "-m", "venv", str(place / "venv")], place)
        run_or_exit([str(python), "-m", "pip", "install", "-q", "openai-agents"], place)
    code = "import importlib.metadata as m; print('openai-agents', m.version('openai-agents'), 'mcp', m.version('mcp'))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def run_or_exit(words: list[str], directory: Path) -> None:
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def is_listed(client: str, output: str) -> bool:
    """The client itself names the server, and says that it can be reached if it checks that."""
    if client not in AGENTS:
        return True
    line = next((one for one in output.split(LISTED)[1].splitlines() if "executor" in one), "")
    return bool(line) and (client == "codex" or "connected" in line.lower())
