"""The image every program starts from: the engine with the driver grafted on, started, and compiled to native code.

It depends on the installation alone, so it is built once and kept beside the engine, or in the user's own directory
when the installation is not theirs.
"""

from __future__ import annotations

from pathlib import Path

from executor.errors import EngineMissing
from executor.runtime.worker.compiled_image import CompiledImage, choose_home, digest_inputs

ENGINE = Path(__file__).with_name("quickjs.wasm")
DRIVER = Path(__file__).with_name("driver.wat")
BESIDE = Path(__file__).with_name("image")
_OWN = ("machine.py", "wasm_rewrite.py", "../worker/wasmtime_ffi.py")
_MOST_MEMORY = 64 << 20


def key() -> str:
    """Names everything that the image depends on."""
    if not ENGINE.exists():
        raise EngineMissing(
            f"the JavaScript engine is missing: {ENGINE}",
            hint="install the package again: its build fetches the engine from npm",
        )
    prelude = sorted(DRIVER.with_name("prelude").glob("*.js"))
    return digest_inputs(ENGINE, DRIVER, *prelude, *(DRIVER.parent / name for name in _OWN))


def home(otherwise: Path) -> Path:
    return choose_home(BESIDE, otherwise)


def build(directory: Path) -> Path:
    from executor.runtime.typescript.machine import Machine
    from executor.runtime.typescript.wasm_rewrite import bake, graft
    from executor.runtime.worker.wasmtime_ffi import Engine, Module

    engine = Engine()
    grafted = graft(ENGINE.read_bytes(), DRIVER.read_text(encoding="utf-8"))
    machine = Machine(Module.compile(engine, grafted), _MOST_MEMORY)
    machine.initialize()
    image = Module.compile(engine, bake(grafted, machine.memory(), machine.read_global)).serialize()
    return _IMAGE.save(directory, image)


_IMAGE = CompiledImage("typescript", lambda: key(), __name__)
find, ensure = _IMAGE.find, _IMAGE.ensure
