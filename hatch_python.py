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
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackagePath
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
    "soupsieve==2.10",
    "tabulate==0.10.0",
    "typing-extensions==4.16.0",
    "tzdata==2026.6",
)
# Native modules that their packages do without, and what the markers of dependencies are compared with.
OPTIONAL = frozenset({"_speedups", "_yaml"})
SANDBOX = {"python_version": "3.14", "python_full_version": "3.14.0", "sys_platform": "wasi", "os_name": "posix",
           "platform_system": "wasi", "platform_machine": "wasm32", "implementation_name": "cpython",
           "platform_python_implementation": "CPython", "extra": ""}  # fmt: skip
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
        return stamp[:2] != [self.inputs(), hashlib.sha256(content).hexdigest()]

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
            found = find_distributions(self.packages)
            check_dependencies(found)
            for one in found:
                copy_package(one, stage)
            for path in (self._folder / "guest").glob("*.py"):
                shutil.copyfile(path, stage / path.name)
            componentize(self._folder / "sandbox.wit", stage, made)
            (self._folder / STAMP).unlink(missing_ok=True)
            shutil.copyfile(made, self.target)
        digest = hashlib.sha256(self.target.read_bytes()).hexdigest()
        names = "".join(f"{one.name} {one.version}\n" for one in found)
        (self._folder / STAMP).write_text(f"{inputs}\n{digest}\n{names}", encoding="ascii")


def is_supported() -> bool:
    return sys.platform in ("linux", "darwin", "win32") and platform.machine().lower() in _MACHINES


def find_distributions(requirements: Iterable[str]) -> list[Distribution]:
    return [find_distribution(name_of(requirement)) for requirement in requirements]


def find_distribution(name: str) -> Distribution:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise RuntimeError(f"building needs `{name}`: build with isolation, or install it") from error


def name_of(requirement: str) -> str:
    """As names are compared: `Python_Dateutil>=2` is `python-dateutil`."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[(=<>~!;@\s]", requirement.strip())[0]).lower()


def check_dependencies(found: list[Distribution]) -> None:
    """Each dependency must be named too: what is missing would show only when a program imports it."""
    inside = {name_of(one.name) for one in found}
    for one in found:
        needed = [text for text in one.requires or [] if applies(text)]
        if missing := sorted({name_of(text) for text in needed} - inside):
            raise RuntimeError(
                f"`{one.name}` needs {', '.join(f'`{name}`' for name in missing)}: name it in {MORE} too"
            )


def applies(requirement: str) -> bool:
    """For CPython in WebAssembly, without extras."""
    from packaging.requirements import Requirement

    marker = Requirement(requirement).marker
    return marker is None or marker.evaluate(SANDBOX)


def copy_package(found: Distribution, stage: Path) -> None:
    """The files that have a use in the sandbox: no native code, no tests."""
    files = found.files or []
    if native := needed_native(files):
        raise RuntimeError(f"`{found.name}` is not pure Python: it has `{native}`, which can't run in WebAssembly")
    for relative in select_files(files):
        target = stage / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(found.locate_file(relative)), target)
    folder = stage / f"{found.name}-{found.version}.dist-info"
    folder.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        if text := found.read_text(name):
            (folder / name).write_text(text.partition("\n\n")[0] if name == "METADATA" else text, encoding="utf-8")


def needed_native(files: list[PackagePath]) -> str:
    """The first native module that nothing in Python takes the place of."""
    replaced = {path.with_suffix("") for path in files if path.suffix == ".py"}
    for path in files:
        name = path.name.partition(".")[0]
        if path.suffix in (".so", ".pyd") and name not in OPTIONAL and path.with_name(name) not in replaced:
            return str(path)
    return ""


def select_files(files: list[PackagePath]) -> Iterator[PurePosixPath]:
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
