"""Does a process become Deno here, and sealed with what? Tried once, as for an execution, and ended."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from executor.runtime.deno import binary
from executor.runtime.deno.process import PRELUDE, READY, command, environment, frame
from executor.runtime.worker.frames import LENGTH
from executor.runtime.worker.process import read_greeting
from executor.runtime.worker.seal import Layer

SECONDS = 30.0
_MEMORY_BYTES = 64 << 20


def layers() -> tuple[Layer, ...]:
    """Raises OSError, ValueError or a SubprocessError when no process is ready in the end."""
    said = _read_first(frame(PRELUDE, binary.prelude().encode()))
    size = LENGTH.unpack_from(said)[0]
    rest = said[LENGTH.size + size :]
    if rest[LENGTH.size :] != bytes([READY]):
        raise ValueError("deno did not start sealed")
    return read_greeting(said[LENGTH.size : LENGTH.size + size])


def _read_first(first: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="executor-deno-") as folder:
        done = subprocess.run(
            command(binary.find(), _MEMORY_BYTES),
            input=first,
            capture_output=True,
            timeout=SECONDS,
            check=True,
            env=environment(Path(folder)),
            cwd=folder,
        )
    return done.stdout
