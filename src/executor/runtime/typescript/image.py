"""The image every program starts from: the engine with the driver grafted on, started, and compiled to native code.

It depends on the installation alone, so it is built once and kept beside the engine, or in the user's directory when
the installation is not theirs. The file is executed, so its directory is the user's alone, and the name holds a digest
of the content: anything cut short or altered is built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path

from executor.errors import DataDirectoryUnusable, EngineMissing, ExecutorError
from executor.private_files import write_private

ENGINE = Path(__file__).with_name("quickjs.wasm")
DRIVER = Path(__file__).with_name("driver.wat")
BESIDE = Path(__file__).with_name("image")
_OWN = ("machine.py", "wasm_rewrite.py", "wasmtime_ffi.py")
_MOST_MEMORY = 64 << 20
_BUILD_SECONDS = 300


def key() -> str:
    """Names everything that the image depends on."""
    if not ENGINE.exists():
        raise EngineMissing(
            f"the JavaScript engine is missing: {ENGINE}",
            hint="install the package again: its build fetches the engine from npm",
        )
    parts = [ENGINE, DRIVER, *sorted(DRIVER.with_name("prelude").glob("*.js")), *(DRIVER.with_name(n) for n in _OWN)]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.name.encode() + b"\0" + part.read_bytes())
    digest.update(f"{importlib.metadata.version('wasmtime')} {sys.platform} {platform.machine()}".encode())
    return digest.hexdigest()[:16]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def home(otherwise: Path) -> Path:
    """Beside the engine if the installation belongs to this user and can be written, else `otherwise`."""
    folder = BESIDE if BESIDE.exists() else BESIDE.parent
    is_own = folder.stat().st_uid == os.geteuid() and os.access(folder, os.W_OK | os.X_OK)
    return BESIDE if is_own else otherwise


def find(directory: Path) -> Path | None:
    """The image of this installation, if there is one and it is whole."""
    for path in directory.glob(f"typescript-{key()}-*.cwasm"):
        if path.stem.rpartition("-")[2] == _digest(path.read_bytes()):
            return path
        path.unlink()
    return None


def ensure(directory: Path) -> Path:
    """Takes seconds of CPU the first time, in a process of its own: compiling leaves much memory behind."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        directory.chmod(0o700)
        found = find(directory)
    except OSError as error:
        raise DataDirectoryUnusable(
            f"the cache directory {directory} can't be used: {error.strerror}",
            hint="make it writable, or set another data directory",
        ) from error
    return found or _build_apart(directory)


def _build_apart(directory: Path) -> Path:
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; {_BUILD}", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_BUILD_SECONDS, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise ExecutorError(
            f"the sandbox image could not be built: {last}",
            hint="check that the disk has space, then start again; `executor doctor` shows details",
        )
    return Path(done.stdout.strip())


_BUILD = f"from {__name__} import build; from pathlib import Path; print(build(Path(sys.argv[1])))"


def build(directory: Path) -> Path:
    from executor.runtime.typescript.machine import Machine
    from executor.runtime.typescript.wasm_rewrite import bake, graft
    from executor.runtime.typescript.wasmtime_ffi import Engine, Module

    engine = Engine()
    grafted = graft(ENGINE.read_bytes(), DRIVER.read_text(encoding="utf-8"))
    machine = Machine(Module.compile(engine, grafted), _MOST_MEMORY)
    machine.initialize()
    image = Module.compile(engine, bake(grafted, machine.memory(), machine.read_global)).serialize()
    return _write(directory, image)


def _write(directory: Path, image: bytes) -> Path:
    path = directory / f"typescript-{key()}-{_digest(image)}.cwasm"
    write_private(path, image, durable=True)
    for old in directory.glob("typescript-*.cwasm"):
        if old != path:
            with contextlib.suppress(OSError):
                old.unlink()
    return path
