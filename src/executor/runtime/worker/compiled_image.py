"""Compiled code that programs start from, kept on disk: made once, found again by its inputs.

The file is executed, so its directory is the user's alone, and the name holds a digest of the content: anything cut
short or altered is replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from executor.errors import DataDirectoryUnusable, ExecutorError
from executor.private_files import write_private

_BUILD_SECONDS = 600


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def digest_inputs(*parts: Path) -> str:
    """Of the files that an image is built from, the engine and the machine."""
    inputs = hashlib.sha256()
    for part in parts:
        inputs.update(part.name.encode() + b"\0" + part.read_bytes())
    inputs.update(f"{importlib.metadata.version('wasmtime')} {sys.platform} {platform.machine()}".encode())
    return inputs.hexdigest()[:16]


def choose_home(beside: Path, otherwise: Path) -> Path:
    """`beside` if the installation belongs to this user and can be written, else `otherwise`."""
    folder = beside if beside.exists() else beside.parent
    is_own = folder.stat().st_uid == os.geteuid() and os.access(folder, os.W_OK | os.X_OK)
    return beside if is_own else otherwise


@dataclass(frozen=True)
class CompiledImage:
    """`key` names everything that the image depends on. The module `builder` has `build(directory) -> Path`."""

    name: str
    key: Callable[[], str]
    builder: str

    def find(self, directory: Path) -> Path | None:
        """The image of this installation, if there is one and it is whole."""
        for path in directory.glob(f"{self.name}-{self.key()}-*.cwasm"):
            if path.stem.rpartition("-")[2] == digest(path.read_bytes()):
                return path
            path.unlink()
        return None

    def ensure(self, directory: Path) -> Path:
        """Takes seconds of CPU the first time, in a process of its own: compiling leaves much memory behind."""
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            directory.chmod(0o700)
            found = self.find(directory)
        except OSError as error:
            raise DataDirectoryUnusable(
                f"the cache directory {directory} can't be used: {error.strerror}",
                hint="make it writable, or set another data directory",
            ) from error
        return found or self._build_apart(directory)

    def _build_apart(self, directory: Path) -> Path:
        build = f"from {self.builder} import build; from pathlib import Path; print(build(Path(sys.argv[1])))"
        command = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; {build}", str(directory)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_BUILD_SECONDS, check=False)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise ExecutorError(
                f"the sandbox image could not be built: {last}",
                hint="check that the disk has space, then start again; `executor doctor` shows details",
            )
        return Path(done.stdout.strip())

    def save(self, directory: Path, image: bytes) -> Path:
        path = directory / f"{self.name}-{self.key()}-{digest(image)}.cwasm"
        write_private(path, image, durable=True)
        for old in directory.glob(f"{self.name}-*.cwasm"):
            if old != path:
                with contextlib.suppress(OSError):
                    old.unlink()
        return path
