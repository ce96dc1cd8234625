"""The daemon process: lock, socket, Executor, server; and the way back when it is told to stop.

What fails fast comes first (directories, lock, port), before anything heavy is imported. The surfaces lie above this
layer, so the caller hands in how to load them.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from executor import __version__
from executor.daemon import files, lock, port
from executor.daemon.report import Report
from executor.errors import DataDirectoryUnusable, ExecutorError
from executor.settings import Settings

if TYPE_CHECKING:
    import asyncio

    from executor.daemon.executor import Executor

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
Application = Callable[..., Awaitable[None]]


class Surfaces(NamedTuple):
    """`release` ends live streams and long waits, so that the server need not wait for them when it stops."""

    app: Application
    release: Callable[[], None]


LoadSurfaces = Callable[[], Callable[["Executor"], Surfaces]]

logger = logging.getLogger(__name__)


def serve(settings: Settings, load_surfaces: LoadSurfaces, report: Report) -> None:
    """Runs until told to stop. An error while starting goes to `report` and is raised."""
    try:
        _serve(settings, load_surfaces, report)
    except ExecutorError as error:
        report.failed(error)
        raise
    except Exception as error:
        logger.exception("daemon.failed")
        report.failed(
            ExecutorError(f"the daemon failed: {type(error).__name__}: {error}", hint=f"see {settings.log_file}")
        )
        raise


def _serve(settings: Settings, load_surfaces: LoadSurfaces, report: Report) -> None:
    os.umask(0o077)
    files.prepare(settings)
    with lock.acquire(settings.lock_file):
        _refuse_shared_state(settings)
        settings.daemon_file.unlink(missing_ok=True)  # of a daemon that was killed; a pid may come again
        with port.bind(settings.host, settings.port) as listener:
            settings = replace(settings, port=listener.getsockname()[1])
            files.write_private(settings.pid_file, f"{os.getpid()}\n")
            _configure_logs(settings, report)
            try:
                _run(settings, load_surfaces, report, listener)
            finally:
                settings.daemon_file.unlink(missing_ok=True)
                settings.pid_file.unlink(missing_ok=True)


def _configure_logs(settings: Settings, report: Report) -> None:
    from executor.daemon import logs

    logs.configure(settings, detached=report.detached)
    logger.info("daemon.starting", extra={"pid": os.getpid(), "version": __version__, "address": settings.base_url})


def _run(settings: Settings, load_surfaces: LoadSurfaces, report: Report, listener: socket.socket) -> None:
    import asyncio

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_live(settings, load_surfaces, report, listener))


def _loop_factory() -> Callable[[], Any] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _live(settings: Settings, load_surfaces: LoadSurfaces, report: Report, listener: socket.socket) -> None:
    import asyncio

    from executor.daemon.executor import Executor

    stopping = _on_signal()
    opening = asyncio.create_task(Executor.open(settings, progress=report.progress))
    # The surfaces are imported beside it: most of the opening is waiting, for the disk and for the workers.
    loading = asyncio.create_task(asyncio.to_thread(load_surfaces))
    executor = await _opened(opening, stopping)
    if executor is None:
        return
    try:
        create_surfaces = await loading
        if not stopping.is_set():
            await _listen(settings, create_surfaces(executor), listener, stopping, report)
    finally:
        logger.info("daemon.stopping")
        await executor.close()
        logger.info("daemon.stopped")


def _on_signal() -> asyncio.Event:
    """Set by the first signal; a second one ends the process at once, which the journal survives."""
    import asyncio

    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        stopping.set()
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop)
    return stopping


async def _opened(opening: asyncio.Task[Executor], stopping: asyncio.Event) -> Executor | None:
    """None when told to stop before it was open."""
    import asyncio

    told = asyncio.create_task(stopping.wait())
    await asyncio.wait((opening, told), return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if opening.done():
        return opening.result()
    opening.cancel()
    with suppress(asyncio.CancelledError):
        await (await opening).close()
    return None


async def _listen(
    settings: Settings, surfaces: Surfaces, listener: socket.socket, stopping: asyncio.Event, report: Report
) -> None:
    import asyncio

    import uvicorn

    class Server(uvicorn.Server):
        def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
            return nullcontext()  # ours are in place since before the database was opened

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            _record(settings)
            report.ready(settings.base_url)
            logger.info("daemon.ready", extra={"address": settings.base_url})

    config = uvicorn.Config(
        surfaces.app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=60,
        ws="none",
        lifespan="auto",
    )
    server = Server(config)

    async def watch() -> None:
        await stopping.wait()
        settings.daemon_file.unlink(missing_ok=True)  # from now on whoever looks waits for the next daemon
        surfaces.release()
        server.should_exit = True

    watching = asyncio.create_task(watch())
    try:
        await server.serve(sockets=[listener])
    finally:
        watching.cancel()


def _record(settings: Settings) -> None:
    record = {
        "pid": os.getpid(),
        "host": settings.host,
        "port": settings.port,
        "startId": secrets.token_hex(16),
        "dataDir": str(settings.data_dir),
        "version": __version__,
    }
    files.write_private(settings.daemon_file, json.dumps(record) + "\n")


def _refuse_shared_state(settings: Settings) -> None:
    """Two data directories with one state directory would overwrite each other's address."""
    try:
        other = json.loads(settings.daemon_file.read_text(encoding="utf-8"))
        folder, pid = other["dataDir"], other["pid"]
        if folder == str(settings.data_dir) or lock.holder(replace(settings, data_dir=Path(folder)).lock_file) != pid:
            return
    except (OSError, ValueError, KeyError, TypeError):
        return
    raise DataDirectoryUnusable(
        f"the state directory {settings.state_dir} is in use by the daemon of {folder}",
        hint="give each data directory its own EXECUTOR_STATE_DIR",
    )
