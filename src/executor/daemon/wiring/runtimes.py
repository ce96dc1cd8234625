"""The sandbox workers of a daemon, started before anything else: they take a moment, and another core has time.

Only the default runtime is started here. The others are imported and started by the first execution that needs them.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

from executor.errors import way_to_install
from executor.runtime.protocol import Runtime
from executor.runtime.python import image as python_image
from executor.runtime.registry import Lazy, Runtimes
from executor.runtime.remote.live_runs import LiveRuns
from executor.runtime.typescript import image
from executor.runtime.typescript.runtime import TypeScriptRuntime
from executor.settings import Settings

INSTALL_DENO = f"to install it: {way_to_install('deno')}"
SET_REMOTE = "set remote_url and remote_token_file; see docs/runtimes.md"
BUILD_PYTHON = "install Executor again, and look at what its build says about CPython"


class Sandboxes:
    """`runtime` is the default one, `runtimes` are all that are installed, by id. Where nothing is executed, none is
    started before something is replayed."""

    def __init__(self, settings: Settings, *, is_needed: bool = True) -> None:
        self._settings = settings
        cache_dir = image.home(settings.state_dir / "sandbox")
        self.runtime = TypeScriptRuntime(
            workers=settings.workers, slots=settings.slots, cache_dir=cache_dir, is_frugal=True
        )
        present: dict[str, Runtime] = {"typescript": self.runtime if is_needed else Lazy(("typescript",), self._late)}
        absent: dict[str, str] = {}
        if python_image.COMPONENT.exists():
            present["python"] = Lazy(("python",), self._python)
        else:
            absent["python"] = BUILD_PYTHON
        if find_spec("deno") is None:
            absent["deno"] = INSTALL_DENO
        else:
            present["deno"] = Lazy(("typescript",), self._deno)
        self.remote_runs = LiveRuns()
        if settings.remote_url:
            present["remote"] = Lazy(("typescript", "python"), self._remote)
        else:
            absent["remote"] = SET_REMOTE
        self.runtimes = Runtimes(
            present,
            absent,
            default=settings.default_runtime,
            allowed=settings.runtimes,
            languages=settings.languages,
        )
        self._starting = asyncio.create_task(self.runtime.start()) if is_needed else None

    async def _late(self) -> Runtime:
        await self.runtime.start()
        return self.runtime

    async def _python(self) -> Runtime:
        from executor.runtime.python.runtime import PythonRuntime

        settings = self._settings
        cache_dir = python_image.home(settings.state_dir / "sandbox")
        runtime = PythonRuntime(workers=settings.workers, slots=settings.slots, cache_dir=cache_dir)
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
        if self._starting is not None:
            await self._starting

    async def close(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self.runtimes.close()
