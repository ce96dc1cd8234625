"""A whole daemon that runs as another Unix user, with everything below it."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from executor.errors import IsolationUnavailable
from executor.sessions.isolation.unix_user import find_user, python_for
from tests.support.daemon import Daemon

USER = "games"
ROOT = Path(__file__).parents[3]


@contextmanager
def public_folder() -> Iterator[Path]:
    """Not one of pytest, which closes them to others whenever another pytest starts."""
    with tempfile.TemporaryDirectory(prefix="executor-proof-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def make_python(folder: Path) -> str:
    """With the packages of this checkout, where the other user can run it. Skips the test where there is none."""
    if os.getuid() != 0:
        pytest.skip("only root can act as someone else")
    try:
        base = python_for(find_user(USER))
    except IsolationUnavailable as error:
        pytest.skip(error.message)
    made = subprocess.run([base, "-m", "venv", "--without-pip", str(folder)], capture_output=True, text=True)
    packages = [Path(sysconfig.get_path("purelib")), ROOT / "src"]
    python = folder / "bin" / "python"
    target = next(iter(folder.glob("lib/python*/site-packages")), folder)
    (target / "checkout.pth").write_text("".join(f"{one}\n" for one in packages))
    version = ["-c", "import orjson, sys; print(sys.version_info[:2])"]
    tried = subprocess.run([python, *version], capture_output=True, text=True, user=USER, cwd="/", env={})
    if made.returncode or tried.stdout.strip() != str(sys.version_info[:2]):
        pytest.skip(f"{USER} has no Python that can run this checkout: {tried.stderr[-200:]}")
    return str(python)


def make_daemon(folder: Path, **variables: str) -> Daemon:
    """Not started yet. What it needs in its data directory has to be given to the user by `hand_over`."""
    python = make_python(folder / "python")
    daemon = Daemon(folder / "daemon", HOME=str(folder / "home"), **variables)
    daemon.command = [python, *daemon.command[1:]]
    daemon.options = {"user": USER, "group": pwd.getpwnam(USER).pw_gid, "extra_groups": [], "cwd": "/"}
    for name in ("daemon", "home", "work"):
        (folder / name).mkdir(exist_ok=True)
    return daemon


def hand_over(folder: Path) -> None:
    user = pwd.getpwnam(USER)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
