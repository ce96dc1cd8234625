"""Where Deno is, how it is started, and what it is given to read."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from executor.errors import DenoMissing, way_to_install

MAIN = Path(__file__).with_name("main.js")
INSTALL = f"to install it: {way_to_install('deno')}"
_OWN = Path(__file__).parent
_SHARED = Path(__file__).parents[1] / "typescript" / "prelude"
_PARTS = (
    *("realm/clock", "intrinsics", "serialize", "conversions", "random", "program", "console", "tools", "timers"),
    *("realm/dom", "encoding", "clone", "host", "url", "realm/finish"),
)
_DENIED = ("read", "write", "net", "env", "run", "ffi", "sys", "import")
_CLOSED = ("--no-prompt", "--no-remote", "--no-npm", "--no-config", "--no-lock", "--cached-only", "--no-code-cache")
# V8's heap holds the code's own values and the prelude's; below this it can't start.
_OVERHEAD_MB = 24


def is_installed() -> bool:
    return importlib.util.find_spec("deno") is not None


def find() -> Path:
    try:
        from deno import find_deno_bin

        found = Path(find_deno_bin()).resolve()
    except (ImportError, FileNotFoundError) as error:
        raise DenoMissing("the deno runtime is not installed", hint=INSTALL) from error
    if not found.is_file():
        raise DenoMissing(f"the deno runtime's program is missing: {found}", hint=INSTALL)
    return found


def version() -> str:
    from importlib.metadata import version

    return version("deno")


def command(binary: Path, memory_bytes: int) -> list[str]:
    """Every permission is denied by name, so that none is ever asked for."""
    heap = (memory_bytes >> 20) + _OVERHEAD_MB
    denied = [f"--deny-{name}" for name in _DENIED]
    flags = f"--v8-flags=--max-heap-size={heap},--single-threaded-gc,--disallow-code-generation-from-strings"
    return [str(binary), "run", "--quiet", *_CLOSED, *denied, flags, str(MAIN)]


def prelude() -> str:
    """The realm of submitted code: the same as in the `typescript` runtime, with a clock that the host sets."""
    parts = [(_OWN if name.startswith("realm/") else _SHARED) / f"{name}.js" for name in _PARTS]
    return '(() => {"use strict";\n' + "\n".join(part.read_text(encoding="utf-8") for part in parts) + "\n})()"
