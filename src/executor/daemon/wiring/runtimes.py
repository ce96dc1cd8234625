"""The sandbox workers of a daemon, started before anything else: they take a moment, and another core has time.

Only the default runtime is started here. The others are imported and started by the first execution that needs them.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

from executor.runtime.cpython import image as cpython_image
from executor.runtime.protocol import Runtime
from executor.runtime.registry import Lazy, Runtimes
from executor.runtime.remote.live_runs import LiveRuns
from executor.runtime.typescript import image
from executor.runtime.typescript.runtime import TypeScriptRuntime
from executor.settings import Settings

INSTALL_DENO = "install it into Executor's environment with `pip install '.[deno]'` in its checkout"
SET_REMOTE = "set remote_url and remote_token_file; see docs/runtimes.md"
INSTALL_PYTHON = "install it with `pip install pydantic-monty==1.4.0`"
BUILD_CPYTHON = "install Executor again, and look at what its build says about CPython"


class Sandboxes:
    """`runtime` is the default one, `runtimes` are all that are installed, by id."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        cache_dir = image.home(settings.state_dir / "sandbox")
        self.runtime = TypeScriptRuntime(workers=settings.workers, slots=settings.slots, cache_dir=cache_dir)
        present: dict[str, Runtime] = {"typescript": self.runtime}
        absent: dict[str, str] = {}
        self._add_python(present, absent)
        if find_spec("deno") is None:
            absent["deno"] = INSTALL_DENO
        else:
            present["deno"] = Lazy(("typescript",), self._deno)
        self.remote_runs = LiveRuns()
        if settings.remote_url:
            present["remote"] = Lazy(("typescript", "python"), self._remote)
        else:
            absent["remote"] = SET_REMOTE
        self.runtimes = Runtimes(present, absent)
        self._starting = asyncio.create_task(self.runtime.start())

    def _add_python(self, present: dict[str, Runtime], absent: dict[str, str]) -> None:
        """`python` is what the setting says; `cpython` is there by its own name, too."""
        if cpython_image.COMPONENT.exists():
            present["cpython"] = Lazy(("python",), self._cpython)
        else:
            absent["cpython"] = BUILD_CPYTHON
        if self._settings.python_interpreter == "cpython" and "cpython" in present:
            present["python"] = present["cpython"]
        elif find_spec("pydantic_monty") is not None:
            present["python"] = Lazy(("python",), self._python)
        else:
            absent["python"] = INSTALL_PYTHON

    async def _cpython(self) -> Runtime:
        from executor.runtime.cpython.runtime import CPythonRuntime

        settings = self._settings
        cache_dir = cpython_image.home(settings.state_dir / "sandbox")
        runtime = CPythonRuntime(workers=settings.workers, slots=settings.slots, cache_dir=cache_dir)
        await runtime.start()
        return runtime

    async def _python(self) -> Runtime:
        from executor.runtime.python.runtime import PythonRuntime

        runtime = PythonRuntime(workers=self._settings.workers, slots=self._settings.slots)
        await runtime.start()
        return runtime

    async def _deno(self) -> Runtime:
        from executor.runtime.deno.runtime import DenoRuntime

        settings = self._settings
        runtime = DenoRuntime(processes=settings.deno_processes, memory_bytes=settings.limits.memory_bytes)
        await runtime.start()
        return runtime

    async def _remote(self) -> Runtime:
        from executor.runtime.remote.address import host_token
        from executor.runtime.remote.runtime import RemoteRuntime

        settings = self._settings
        token = await asyncio.to_thread(host_token, settings.remote_token_file)
        callback_url = settings.remote_callback_url or settings.base_url
        return RemoteRuntime(url=settings.remote_url, token=token, callback_url=callback_url, runs=self.remote_runs)

    async def ready(self) -> None:
        await self._starting

    async def close(self) -> None:
        self._starting.cancel()
        await asyncio.gather(self._starting, return_exceptions=True)
        await self.runtimes.close()
