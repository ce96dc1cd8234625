"""The image every program starts from: the component that the build made, compiled to native code.

It depends on the installation alone. It is kept beside the component, or in the user's own directory when the
installation is not theirs.
"""

from __future__ import annotations

from pathlib import Path

from executor.errors import EngineMissing
from executor.runtime.worker.compiled_image import CompiledImage, choose_home, digest_inputs

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
    return digest_inputs(COMPONENT, *(COMPONENT.parent / name for name in _OWN))


def packages() -> list[str]:
    """Inside the component beside the standard library, each with its version: as the build has written them."""
    try:
        return STAMP.read_text(encoding="utf-8").splitlines()[2:]
    except OSError:
        return []


def home(otherwise: Path) -> Path:
    return choose_home(BESIDE, otherwise)


def build(directory: Path) -> Path:
    from executor.runtime.python.component_ffi import Component, new_engine

    return _IMAGE.save(directory, Component.compile(new_engine(), COMPONENT.read_bytes()).serialize())


_IMAGE = CompiledImage("python", key, __name__)
ensure = _IMAGE.ensure
