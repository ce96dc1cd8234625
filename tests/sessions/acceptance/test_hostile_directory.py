"""What a working directory brings along for an agent, and what the host has open: out of the agent's reach.

The scripted agent runs in the place of each real one and acts as a loader: it looks at every file that the real one
would load. `scripts/try-agents` does the same with the real agents.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from agent_trials.hostile_directory import plant

from executor.errors import AgentUnavailable
from executor.sessions.agents.installation import locate
from executor.sessions.agents.table import AGENTS
from tests.sessions.daemon import session_host
from tests.support.daemon import Daemon
from tests.support.sandbox import needs_sandbox
from tests.support.sessions import Session

pytestmark = needs_sandbox
REAL = [name for name, agent in AGENTS.items() if agent.package]
FILES = (".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".gemini/settings.json", ".env",
         ".codex/config.toml", "opencode.json", ".opencode/plugin/evil.js")  # fmt: skip
MARKS = ("canary-", "127.0.0.1:9", "bypassPermissions")


def install(folder: Path, name: str) -> None:
    agent = AGENTS[name]
    root = folder / name / "node_modules"
    (root / agent.package).mkdir(parents=True)
    (root / agent.package / "package.json").write_text(f'{{"version": "{agent.version}"}}')
    (root / ".bin").mkdir()
    python, source = os.path.realpath(sys.executable), root / ".bin" / "scripted.py"
    source.write_text(AGENTS["fake"].command[-1])
    program = root / ".bin" / agent.program
    if agent.node:
        call = f"require('child_process').spawnSync('{python}', ['-IS', '{source}'], {{stdio: 'inherit'}})"
        program.write_text(f"process.exit({call}.status)\n")
    else:
        program.write_text(f"#!/bin/sh\nexec {python} -IS {source}\n")
        program.chmod(0o755)
    try:
        locate(agent, str(folder))
    except AgentUnavailable as error:
        pytest.skip(error.message)


def files_of(name: str) -> list[str]:
    """That this agent would load."""
    masked = AGENTS[name].masked
    return [file for file in FILES if any(file == one or file.startswith(one) for one in masked)]


@pytest.mark.parametrize("name", REAL)
async def test_each_agent_finds_nothing_of_what_it_would_load(tmp_path: Path, name: str) -> None:
    install(tmp_path / "agents", name)
    (tmp_path / "work").mkdir()
    plant(tmp_path / "work")
    own = files_of(name)
    assert own
    look = f"for file in {' '.join(map(shlex.quote, own))}; do cat $file; done 2>&1; find .codex .opencode -type f"
    async with session_host(tmp_path, mode="sandbox", agents_directory=str(tmp_path / "agents")) as daemon:
        daemon.base_url = "http://127.0.0.1:1"
        result = await daemon.prompt({"run": look}, agentic_tool=name)
        assert result["status"] == "completed", result
        seen = daemon.output()
    relevant = [mark for mark in MARKS if mark in seen]
    assert relevant == [], seen
    async with session_host(tmp_path, agents_directory=str(tmp_path / "agents")) as daemon:
        result = await daemon.prompt({"run": look}, agentic_tool=name)
        assert result["error"]["code"] == "isolation_unavailable", "without a sandbox it is refused"


async def test_without_protection_the_same_look_finds_them(tmp_path: Path) -> None:
    """The control."""
    (tmp_path / "work").mkdir()
    plant(tmp_path / "work")
    async with session_host(tmp_path) as daemon:
        for name in REAL:
            await daemon.prompt({"run": f"cat {' '.join(files_of(name))}"})
            assert any(mark in daemon.output() for mark in MARKS), name


@pytest.fixture
def host_sockets(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Sockets as a host has them, and the variables that lead to them."""
    names = {"SSH_AUTH_SOCK": "agent.sock", "DOCKER_HOST": "docker.sock", "DBUS_SESSION_BUS_ADDRESS": "bus"}
    with ExitStack() as stack:
        found = {}
        for variable, name in names.items():
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(tmp_path / name))
            listener.listen()
            found[variable] = str(tmp_path / name)
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0executor-proof-{os.getpid()}")
        abstract.listen()
        yield found | {"DISPLAY": f"@executor-proof-{os.getpid()}"}


def test_sockets_of_the_host_are_neither_named_nor_reached(tmp_path: Path, host_sockets: dict[str, str]) -> None:
    daemon = Daemon(tmp_path / "daemon", **host_sockets)
    (tmp_path / "daemon").mkdir()
    (tmp_path / "work").mkdir()
    daemon.start()
    try:
        for isolation, reached in (("sandbox", "refused"), ("insulated", "connected")):  # the second is the control
            session = Session(daemon, tmp_path / "work", isolation=isolation)
            session.prompt({"run": "env"}, *({"connect": target} for target in host_sockets.values()))
            shown = session.messages("tool_call")[0]["data"]["content"][0]["text"]
            assert not [name for name in host_sockets if f"{name}=" in shown]
            assert all(f"{reached} {target}" in session.text() for target in host_sockets.values()), session.text()
            daemon.post(f"{session.path}/stop")
    finally:
        daemon.stop()
