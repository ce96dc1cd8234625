"""npm and pip, which fetch the packages of agents into a folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from executor.errors import AgentUnavailable

INSTALL_SECONDS = 1200
RETRIES = ("--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")

Progress = Callable[[int], None]  # gets the bytes on disk so far, about once a second


def run_npm(node: str, package: str, folder: Path, progress: Progress) -> None:
    """With the same Node.js that will run the package. Raises AgentUnavailable."""
    npm = Path(node).parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [node, str(npm)] if npm.exists() else ["npm"]
    command += ["install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", *RETRIES]
    path = f"{Path(node).parent}:{os.environ.get('PATH', os.defpath)}"
    _run("npm", [*command, package], folder, {"PATH": path}, progress)


def run_pip(package: str, folder: Path, progress: Progress) -> None:
    """For the same Python that will run the package. Raises AgentUnavailable."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(folder), package]
    _run("pip", command, folder, {}, progress)


def _run(name: str, command: Sequence[str], folder: Path, changes: Mapping[str, str], progress: Progress) -> None:
    """With the environment less our settings: packages run scripts, and a setting may hold a key or a password."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith("EXECUTOR_")}
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            cwd=folder, env={**ours, **changes},
        )  # fmt: skip
    except FileNotFoundError:
        hint = "install Node.js with npm" if name == "npm" else f"install {name}"
        raise AgentUnavailable(f"{name} is not installed", hint=hint) from None
    errors = _wait(name, child, folder, progress)
    if child.returncode != 0:
        raise AgentUnavailable(
            f"{name} could not install {command[-1]}: {_reason(errors)}",
            hint=f"check that the registry of {name} can be reached, then try again",
        )


def _wait(name: str, child: subprocess.Popen[str], folder: Path, progress: Progress) -> str:
    """What it wrote to its standard error. Nothing of it runs afterwards, whatever happens here."""
    ends = time.monotonic() + INSTALL_SECONDS
    try:
        while time.monotonic() < ends:
            try:
                return child.communicate(timeout=1)[1]
            except subprocess.TimeoutExpired:
                progress(sum(_size(Path(at, name)) for at, _, names in os.walk(folder) for name in names))
        raise AgentUnavailable(f"{name} did not finish within {INSTALL_SECONDS} s", hint="try again")
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()


def _size(path: Path) -> int:
    """Files are moved while they are looked at."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _reason(errors: str) -> str:
    """Of a long report, the line that says what went wrong."""
    lines = [re.sub(r"^(npm error|ERROR:) ", "", line).strip() for line in errors.splitlines() if line.strip()]
    said = [line for line in lines if " " in line and not re.match(r"(code|errno|syscall|command|path|at)\b", line)]
    found = next((line for line in said if "reason:" in line), said[0] if said else " ".join(lines))
    return found[:300] or "it said nothing"
