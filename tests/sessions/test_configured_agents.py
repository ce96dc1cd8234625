"""Agents of the setting `session_agents`: started like the built-in ones, listed, and named where they are wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.sessions.agents.configured import read_agents
from executor.sessions.agents.installation import install, installed_version
from executor.sessions.agents.table import find_agent
from tests.sessions.daemon import session_host
from tests.support.daemon import Daemon, Refused
from tests.support.sandbox import needs_sandbox
from tests.support.sessions import Session

SCRIPTED = Path(__file__).parents[2] / "src" / "executor" / "sessions" / "agents" / "fake" / "agent.py"
MODES = {"plan": "plan", "default": "default"}
MINE = {
    "id": "mine",
    "name": "My agent",
    "version": "1.0",  # of the registry, like the description
    "description": "speaks ACP",
    "command": os.path.realpath(sys.executable),
    "args": ["-I", "-S", str(SCRIPTED)],
    "env": {"GREETING": "at {home}"},
    "modes": MODES,
    "masked": [".mine/"],
    "readable": [str(SCRIPTED)],
}
AGENTS = [
    MINE,
    {"id": "broken", "command": "x", "modes": {"everything": "yolo"}},
    {"id": "codex", "command": "x"},
    {"id": "absent", "command": "/nowhere/agent"},
]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), EXECUTOR_SESSION_AGENTS=json.dumps(AGENTS))
    daemon.start()
    yield daemon
    daemon.stop()


def run(daemon: Daemon, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "executor", *arguments]
    return subprocess.run(command, env=daemon.environ, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("isolation", ["insulated", pytest.param("sandbox", marks=needs_sandbox)])
def test_a_configured_agent_is_prompted_like_any_other(daemon: Daemon, tmp_path: Path, isolation: str) -> None:
    session = Session(daemon, tmp_path, agent="mine", isolation=isolation)
    assert session.prompt({"say": "hello"}, {"run": "echo $GREETING"})["status"] == "completed"
    assert session.text() == "hello "
    assert session.messages("tool_call")[0]["data"]["content"][0]["text"].startswith("at /")
    daemon.post(f"{session.path}/stop")
    daemon.post(f"{session.path}/resume")
    assert session.prompt("again")["status"] == "completed"


def test_a_mode_that_it_does_not_have_is_refused(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path, agent="mine", permissionMode="acceptEdits")
    assert "has no mode for 'acceptEdits'" in session.prompt("hello")["failure"]["message"]


@needs_sandbox
def test_what_it_would_load_is_hidden_in_a_sandbox_and_refused_without(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / ".mine").mkdir()
    (tmp_path / ".mine" / "settings.json").write_text("{}")
    hidden = Session(daemon, tmp_path, agent="mine", isolation="sandbox")
    hidden.prompt({"run": "ls .mine | wc -l"})
    assert hidden.messages("tool_call")[0]["data"]["content"][0]["text"].strip() == "0"
    failure = Session(daemon, tmp_path, agent="mine").prompt("hello")["failure"]
    assert "would load .mine" in failure["message"]


def test_agents_are_listed_with_what_keeps_them_from_starting(daemon: Daemon, tmp_path: Path) -> None:
    found = {one["name"]: one for one in daemon.get("/v1/sessions/agents")["items"]}
    assert list(found) == ["claude-code", "codex", "gemini", "opencode", "fake", "mine", "absent"]
    assert (found["mine"]["title"], found["mine"]["modes"], found["mine"]["problem"]) == ("My agent", list(MODES), None)
    assert "is not installed" in found["codex"]["problem"]
    assert "'/nowhere/agent', can't be found" in found["absent"]["problem"]
    with pytest.raises(Refused, match="can't be found"):
        Session(daemon, tmp_path, agent="absent")
    assert "My agent" in run(daemon, "sessions", "agents").stdout


def test_wrong_entries_are_named_with_their_place_and_stop_nothing(daemon: Daemon) -> None:
    reported = run(daemon, "doctor").stdout
    assert "session_agents[1].modes.everything" in reported
    assert "session_agents[2].id" in reported and "there is an agent 'codex' already" in reported
    assert "session_agents[1].modes.everything" in run(daemon, "up").stderr


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({}, ".id"),
        ({"id": "../x", "command": "x"}, ".id"),
        ({"id": "x"}, ""),
        ({"id": "x", "command": "x", "distribution": {"npx": {"package": "x@1.0"}}}, ""),
        ({"id": "x", "distribution": {"binary": {"linux-x86_64": {"archive": "x"}}}}, ""),
        ({"id": "x", "distribution": {"npx": {"package": "x"}}}, ".distribution"),
        ({"id": "x", "command": "x", "provider": "other"}, ".provider"),
        ({"id": "x", "command": "x", "masked": ["../up"]}, ".masked[0]"),
        ({"id": "x", "command": "x", "readable": ["here"]}, ".readable[0]"),
        ({"id": "x", "command": "x", "surprise": 1}, ".surprise"),
        ({"id": "x", "command": ["x"]}, ".command"),
        ("text", ""),
    ],
)
def test_an_entry_that_makes_no_sense_is_left_out(entry: Any, place: str) -> None:
    found = read_agents(json.dumps([entry, MINE]))
    assert list(found.agents) == ["mine"]
    assert [one.place for one in found.problems] == [f"session_agents[0]{place}"]


@pytest.mark.parametrize("text", ["{", "3", '"x"'])
def test_a_setting_that_is_no_list_is_reported(text: str) -> None:
    assert read_agents(text).agents == {} and len(read_agents(text).problems) == 1


async def test_an_agent_from_pypi_is_installed_with_its_version_and_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "wheels", "scripted-agent", "1.2.0")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    entry = {"id": "packed", "distribution": {"uvx": {"package": "scripted-agent@1.2.0", "args": ["--acp"]}}}
    agents = read_agents(json.dumps(entry)).agents
    agent = find_agent("packed", agents)
    assert installed_version(agent, tmp_path / "agents") == ""
    assert install(agent, tmp_path / "agents") == "1.2.0"
    settings = {"agents_directory": str(tmp_path / "agents"), "agents": dict(agents)}
    async with session_host(tmp_path, **settings) as daemon:
        assert (await daemon.prompt({"say": "packed"}, agentic_tool="packed"))["status"] == "completed"
        assert daemon.text() == "packed "


def wheel(folder: Path, name: str, version: str) -> None:
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    source = SCRIPTED.read_text().replace('if __name__ == "__main__":', "def main():")
    files = {
        f"{module}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {module}:main\n",
    }
    record = "".join(f"{one},,\n" for one in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as archive:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, content)
