"""The image every program starts from: the component that the build made, compiled to native code.

It depends on the installation alone. It is kept beside the component, or in the user's own directory when the
installation is not theirs.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import sys
from pathlib import Path

from executor.errors import EngineMissing
from executor.runtime.worker.compiled_image import CompiledImage

COMPONENT = Path(__file__).with_name("python.wasm")
STAMP = Path(__file__).with_name("python.txt")
BESIDE = Path(__file__).with_name("image")
_OWN = ("component_ffi.py", "../worker/wasmtime_ffi.py")


def key() -> str:
    """Names everything that the image depends on."""
    if not COMPONENT.exists():
        raise EngineMissing(
            f"CPython for the sandbox is missing: {COMPONENT}",
            hint="install the package again, and look at what its build says about CPython",
        )
    digest = hashlib.sha256(COMPONENT.read_bytes())
    for name in _OWN:
        digest.update((COMPONENT.parent / name).read_bytes())
    digest.update(f"{importlib.metadata.version('wasmtime')} {sys.platform} {platform.machine()}".encode())
    return digest.hexdigest()[:16]


def packages() -> list[str]:
    """Inside the component beside the standard library, each with its version: as the build has written them."""
    try:
        return STAMP.read_text(encoding="utf-8").splitlines()[2:]
    except OSError:
        return []


def home(otherwise: Path) -> Path:
    """Beside the component if the installation belongs to this user and can be written, else `otherwise`."""
    folder = BESIDE if BESIDE.exists() else BESIDE.parent
    is_own = folder.stat().st_uid == os.geteuid() and os.access(folder, os.W_OK | os.X_OK)
    return BESIDE if is_own else otherwise


def build(directory: Path) -> Path:
    from executor.runtime.python.component_ffi import Component, new_engine

    return _IMAGE.save(directory, Component.compile(new_engine(), COMPONENT.read_bytes()).serialize())


_IMAGE = CompiledImage("python", key, __name__)
ensure = _IMAGE.ensure
