"""Builds `python.wasm`: CPython, its library and a few packages, started and kept as one WebAssembly component.

`componentize-py`, from PyPI, does it: it brings CPython compiled for WASI, runs `guest/app.py` in it, and keeps the
memory that this leaves behind. That takes about twenty seconds of CPU, so the outcome is stamped with a digest of
everything it was made from, and made again only when something of that has changed. It is never committed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

FOLDER = Path("src/executor/runtime/python")
TARGET, STAMP = "python.wasm", "python.txt"
BUILDER = "componentize-py==0.25.1"
# The packages that submitted code can import, and what they need.
PACKAGES = (
    "beautifulsoup4==4.15.0",
    "jinja2==3.1.6",
    "markdown==3.11.3",
    "markupsafe==3.0.4",
    "more-itertools==11.2.1",
    "python-dateutil==4.0.0",
    "pyyaml==6.0.3",
    "soupsieve==4.1",
    "tabulate==0.10.0",
    "typing-extensions==4.16.0",
    "tzdata==2026.6",
)
MORE = "EXECUTOR_PYTHON_PACKAGES"  # requirements of further packages, all of pure Python, with blanks between
SKIP = "EXECUTOR_SKIP_PYTHON"
_MACHINES = {"x86_64", "amd64", "aarch64", "arm64"}  # that the builder is made for
_SECONDS = 1800


class PythonBuild:
    def __init__(self, root: Path) -> None:
        self._folder = root / FOLDER
        self.packages = (*PACKAGES, *os.environ.get(MORE, "").split())

    @property
    def target(self) -> Path:
        return self._folder / TARGET

    @property
    def dependencies(self) -> list[str]:
        return [BUILDER, *self.packages] if self.is_stale() else []

    def is_stale(self) -> bool:
        """False as well where it can't be made, or must not be."""
        if os.environ.get(SKIP) or not is_supported():
            return False
        try:
            stamp = (self._folder / STAMP).read_text(encoding="ascii").split()
            content = self.target.read_bytes()
        except OSError:
            return True
        return stamp != [self.inputs(), hashlib.sha256(content).hexdigest()]

    def inputs(self) -> str:
        """Of everything that the component is made from."""
        digest = hashlib.sha256("\n".join([BUILDER, *self.packages]).encode())
        for path in (*sorted((self._folder / "guest").glob("*.py")), self._folder / "sandbox.wit"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()

    def build(self) -> None:
        inputs = self.inputs()
        with tempfile.TemporaryDirectory() as directory:
            stage, made = Path(directory, "stage"), Path(directory, TARGET)
            stage.mkdir()
            for name in self.packages:
                copy_package(re.split(r"[\[=<>~!; ]", name)[0], stage)
            for path in (self._folder / "guest").glob("*.py"):
                shutil.copyfile(path, stage / path.name)
            componentize(self._folder / "sandbox.wit", stage, made)
            (self._folder / STAMP).unlink(missing_ok=True)
            shutil.copyfile(made, self.target)
        digest = hashlib.sha256(self.target.read_bytes()).hexdigest()
        (self._folder / STAMP).write_text(f"{inputs}\n{digest}\n", encoding="ascii")


def is_supported() -> bool:
    return sys.platform in ("linux", "darwin", "win32") and platform.machine().lower() in _MACHINES


def copy_package(name: str, stage: Path) -> None:
    """The files of an installed distribution that have a use in the sandbox: no native code, no tests."""
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise RuntimeError(f"building needs `{name}`: build with isolation, or install it") from error
    for relative in wanted(found.files or []):
        target = stage / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(found.locate_file(relative)), target)


def wanted(files: list[importlib.metadata.PackagePath]) -> Iterator[PurePosixPath]:
    for path in files:
        inside = path.parts[0] not in ("..", "bin") and not path.parts[0].endswith((".dist-info", ".data"))
        skipped = {"tests", "__pycache__", "_yaml"} & set(path.parts[:-1])
        if inside and not skipped and path.suffix not in (".so", ".pyd", ".pyc", ".pyi", ".c", ".typed"):
            yield path


def componentize(world: Path, stage: Path, target: Path) -> None:
    command = [sys.executable, "-c", "from componentize_py import script; script()", "-q", "-d", str(world)]
    command += ["-w", "sandbox", "componentize", "app", "-p", str(stage), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode != 0 or not target.is_file():
        said = done.stderr.strip().partition("\n\nStack backtrace")[0][-2000:]
        raise RuntimeError(f"componentize-py said:\n{said or 'nothing'}")
