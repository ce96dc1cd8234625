"""Which runtimes there are on this machine, and what each is sealed with."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from executor.daemon.doctor.check import Check
from executor.daemon.wiring.runtimes import BUILD_PYTHON, INSTALL_DENO, SET_REMOTE
from executor.errors import ExecutorError
from executor.runtime.python import image as python_image
from executor.runtime.worker.seal import Layer
from executor.settings import Settings


def check_runtimes(settings: Settings) -> list[Check]:
    checks: dict[str, Callable[[], Check]] = {
        "typescript": lambda: _typescript(settings),
        "python": lambda: _python(settings),
        "deno": _deno,
        "remote": lambda: _remote(settings),
    }
    return [check() if is_allowed(settings, name) else _describe_unused(name) for name, check in checks.items()]


def is_allowed(settings: Settings, name: str) -> bool:
    return not settings.runtimes or name in settings.runtimes


def _describe_unused(name: str) -> Check:
    return Check(f"runtime: {name}", "ok", "the setting runtimes does not allow it")


def _typescript(settings: Settings) -> Check:
    places = f"{settings.workers} workers of {settings.slots} programs"
    return Check("runtime: typescript", "ok", f"QuickJS in WebAssembly, {places}, sealed as above")


def _python(settings: Settings) -> Check:
    if not python_image.COMPONENT.exists():
        return Check("runtime: python", "warning", "not built", BUILD_PYTHON)
    places = f"{settings.workers} workers of {settings.slots} programs"
    inside = ", ".join(python_image.packages()) or "no packages"
    return Check("runtime: python", "ok", f"CPython in WebAssembly with {inside}; {places}, sealed as above")


def _deno() -> Check:
    name = "runtime: deno"
    if find_spec("deno") is None:
        return Check(name, "ok", f"not installed, and optional: {INSTALL_DENO}")
    from executor.runtime.deno import binary, probe

    try:
        layers = probe.layers()
    except (OSError, ValueError, subprocess.SubprocessError, ExecutorError) as error:
        return Check(name, "failure", f"Deno {binary.version()} does not start: {error}", "install the extra again")
    return _describe_seal(name, f"Deno {binary.version()}, one process per execution", layers)


def _describe_seal(name: str, what: str, layers: Sequence[Layer]) -> Check:
    active = ", ".join(layer.name for layer in layers if layer.active)
    missing = "; ".join(f"{layer.name}: {layer.detail}" for layer in layers if not layer.active)
    if missing:
        hint = "the other layers are active; do not run untrusted code there"
        return Check(name, "warning", f"{what}, sealed with {active}; not active: {missing}", hint)
    return Check(name, "ok", f"{what}, sealed with {active}")


def _remote(settings: Settings) -> Check:
    name = "runtime: remote"
    if not settings.remote_url:
        return Check(name, "ok", f"not configured, and optional: {SET_REMOTE}")
    from executor.runtime.remote import probe

    try:
        found = probe.look(settings.remote_url, settings.remote_token_file)
    except ExecutorError as error:
        return Check(name, "failure", error.message, error.hint)
    except OSError as error:
        hint = "start it there with `executor runtime serve`; its executions wait until then"
        return Check(name, "warning", f"the sandbox host {settings.remote_url} does not answer: {error}", hint)
    said = f"version {found.version}, {', '.join(found.runtimes)}, {found.runs} of {found.places} slots in use"
    return _describe_seal(name, f"{settings.remote_url}: {said}", found.layers)
