"""Public packages, installed into a folder of one trial."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from pathlib import Path

from tests.support.packages import node, npm


def run(command: list[str | Path], folder: Path, environ: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environ,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=900,
        check=True,
    )
    return done.stdout


def install_npm(folder: Path, *packages: str) -> Path:
    """Its `node_modules`."""
    (folder / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
    path = os.pathsep.join([str(Path(node()).parent), os.environ.get("PATH", "")])
    options = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    run([*npm(), "install", *options, *packages], folder, {**os.environ, "PATH": path})
    return folder / "node_modules"


def npm_version(modules: Path, package: str) -> str:
    found: str = json.loads((modules / package / "package.json").read_text(encoding="utf-8"))["version"]
    return found


def install_pypi(folder: Path, *packages: str) -> Path:
    """The `bin` of its environment."""
    venv.create(folder / "environment", with_pip=True)
    binaries = folder / "environment" / "bin"
    run([binaries / "python", "-m", "pip", "install", "--quiet", *packages], folder)
    return binaries


def pypi_version(binaries: Path, package: str) -> str:
    code = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    return run([binaries / "python", "-c", code], binaries).strip()
