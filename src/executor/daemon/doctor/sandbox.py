"""What the sandbox on this machine really has: its engine, and which layers of sealing hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from executor.daemon.doctor.check import Check
from executor.runtime.worker import seal

WASM = Path(__file__).parents[2] / "runtime" / "typescript" / "quickjs.wasm"
SEAL_SECONDS = 20.0
SEAL = "import json; from executor.runtime.worker import seal; print(json.dumps(seal.apply(data_bytes=1 << 30)))"
HINTS = {
    "network namespace": "allow unprivileged user namespaces on this machine; until then, seccomp blocks sockets",
    "landlock": "needs Linux 5.13 or newer; until then, seccomp blocks file access",
    "seccomp": "needs Linux on x86_64 or aarch64; do not run untrusted code on this machine",
}
REINSTALL = "install Executor again: its build fetches this file"


def check_wasm() -> Check:
    try:
        with WASM.open("rb") as file:
            intact = file.read(4) == b"\0asm"
    except FileNotFoundError:
        return Check("sandbox engine", "failure", "quickjs.wasm is missing", REINSTALL)
    if not intact:
        return Check("sandbox engine", "failure", "quickjs.wasm is not WebAssembly", REINSTALL)
    return Check("sandbox engine", "ok", f"quickjs.wasm, {WASM.stat().st_size // 1024:,} KB")


def check_sandbox() -> list[Check]:
    """A process seals itself as a worker does and says which layers hold; it can't be undone, so it ends then."""
    command = [sys.executable, "-P", "-c", SEAL]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SEAL_SECONDS, check=True, cwd="/")
        layers = [seal.Layer(*layer) for layer in json.loads(done.stdout)]
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return [Check("sandbox", "failure", f"a process could not seal itself: {error}", "see the daemon's log")]
    return [check_layer(layer) for layer in layers]


def check_layer(layer: seal.Layer) -> Check:
    name = f"sandbox: {layer.name}"
    if layer.active:
        return Check(name, "ok", layer.detail)
    return Check(
        name, "warning", f"not active: {layer.detail}", HINTS.get(layer.name, "the other layers are still active")
    )
