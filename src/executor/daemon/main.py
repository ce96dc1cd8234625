"""The daemon process: lock, socket, server, Executor; and the way back when it has to stop.

What fails fast comes first (directories, lock, port), before anything heavy is imported. Then the sandbox workers start
on their own, the server listens, and while it answers already, the rest is imported and the database opened. The
surfaces lie above this layer, so the caller hands in how to load them.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import resource
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor import __version__, module_bundle
from executor.daemon import data_files, lock, session_settings
from executor.daemon.role import Role, check_role, executes
from executor.daemon.server import port
from executor.daemon.server.stop_signals import on_signal
from executor.daemon.startup_report import Report
from executor.errors import ExecutorError
from executor.private_files import write_private
from executor.settings import Settings

if TYPE_CHECKING:
    import asyncio

    from executor.daemon.server.http_server import Surfaces
    from executor.daemon.server.mcp_socket import McpSocket
    from executor.daemon.wiring.executor import Executor
    from executor.daemon.wiring.runtimes import Sandboxes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LARGE_BLOCK = 1024 * 1024
GARBAGE = 20_000  # objects in cycles that may lie about; see docs/decisions/garbage-collection.md
BUNDLE_SECONDS = 0.5
FILES = 10_240  # what macOS allows at most
LoadSurfaces = Callable[[], Callable[[Settings], "Surfaces"]]

logger = logging.getLogger(__name__)


def serve(settings: Settings, load_surfaces: LoadSurfaces, report: Report, role: Role = "up") -> None:
    """Runs until it has to stop. An error while starting goes to `report` and is raised."""
    try:
        _serve(settings, load_surfaces, report, role)
    except ExecutorError as error:
        report.fail(error)
        raise
    except Exception as error:
        logger.exception("daemon.failed")
        report.fail(
            ExecutorError(
                f"the daemon failed: {type(error).__name__}: {first_line(error)}", hint=f"see {settings.log_file}"
            )
        )
        raise


def first_line(error: Exception) -> str:
    """Libraries add statements and links below it, which are for the log."""
    return str(error).partition("\n")[0]


def _serve(settings: Settings, load_surfaces: LoadSurfaces, report: Report, role: Role) -> None:
    check_role(settings, role)
    os.umask(0o077)
    _raise_file_limit()
    _give_memory_back()
    session_settings.check_hosts(settings)
    data_files.prepare(settings)
    with lock.acquire(settings.lock_file):
        data_files.check_state_dir(settings)
        _check_database(settings)
        settings.daemon_file.unlink(missing_ok=True)  # of a daemon that was killed; a pid may come again
        with port.bind(settings.host, settings.port) as listener:
            settings = replace(settings, port=listener.getsockname()[1])
            write_private(settings.pid_file, f"{os.getpid()}\n")
            _configure_logs(settings, report)
            try:
                _run(settings, load_surfaces, report, listener, role)
            finally:
                settings.daemon_file.unlink(missing_ok=True)
                settings.pid_file.unlink(missing_ok=True)


def _check_database(settings: Settings) -> None:
    from executor.daemon import installation

    installation.check_beginning(settings)


def _raise_file_limit() -> None:
    """Every connection is an open file, and many systems start programs with 1,024 or fewer unless they ask."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _give_memory_back() -> None:
    """Large blocks go back to the system when they are freed. Left alone, glibc keeps all that are as large as any that
    was ever freed, and a burst of large answers is never forgotten."""
    import ctypes

    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        for option in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD):
            libc.mallopt(option, LARGE_BLOCK)


def _configure_logs(settings: Settings, report: Report) -> None:
    from executor.daemon import logs

    logs.configure(settings, detached=report.detached)
    logger.info("daemon.starting", extra={"pid": os.getpid(), "version": __version__, "address": settings.base_url})


def _run(settings: Settings, load_surfaces: LoadSurfaces, report: Report, listener: socket.socket, role: Role) -> None:
    import asyncio

    gc.disable()  # nearly everything created while starting stays; scanning it again and again takes long
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_live(settings, load_surfaces, report, listener, role))


def _loop_factory() -> Callable[[], Any] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _live(
    settings: Settings, load_surfaces: LoadSurfaces, report: Report, listener: socket.socket, role: Role
) -> None:
    import asyncio

    from executor.daemon.wiring.runtimes import Sandboxes

    stopping = on_signal()
    sandboxes = Sandboxes(settings, is_needed=executes(settings, role))
    try:
        create_surfaces = await asyncio.to_thread(load_surfaces)
        listening = await asyncio.to_thread(importlib.import_module, "executor.daemon.server.http_server")
        from executor.daemon.server.mcp_socket import McpSocket

        surfaces = create_surfaces(settings)
        server = listening.Listening(surfaces, listener, stopping)
        mcp = McpSocket(surfaces, settings)
        opening = asyncio.create_task(_open(settings, report, sandboxes, mcp, role))
        executor = None
        try:
            executor = await _await_open(opening, stopping)
            if executor is not None:
                await surfaces.load(executor)
                await _ready(settings, report, stopping)
        finally:
            settings.daemon_file.unlink(missing_ok=True)  # from now on anyone who looks waits for the next daemon
            logger.info("daemon.stopping")
            await mcp.close()
            await server.stop()
            if executor is not None:
                await executor.close()
            logger.info("daemon.stopped")
    finally:
        await sandboxes.close()


async def _open(settings: Settings, report: Report, sandboxes: Sandboxes, mcp: McpSocket, role: Role) -> Executor:
    import asyncio

    module = await asyncio.to_thread(importlib.import_module, "executor.daemon.wiring.executor")
    executor: Executor = await module.Executor.open(
        settings, progress=report.progress, sandboxes=sandboxes, open_mcp=mcp.open, role=role
    )
    return executor


async def _ready(settings: Settings, report: Report, stopping: asyncio.Event) -> None:
    import asyncio

    gc.freeze()  # what is there now stays, and no later collection looks through it
    gc.set_threshold(GARBAGE)
    gc.enable()
    if not stopping.is_set():
        _record(settings)
        report.ready(settings.base_url)
        logger.info("daemon.ready", extra={"address": settings.base_url})
        bundling = asyncio.create_task(_bundle_modules()) if module_bundle.release_bundle() else None
        await stopping.wait()
        if bundling is not None:
            bundling.cancel()


async def _bundle_modules() -> None:
    """For the next start, when this one is over: nothing waits for it."""
    import asyncio

    await asyncio.sleep(BUNDLE_SECONDS)
    await asyncio.to_thread(module_bundle.write_bundle)


async def _await_open(opening: asyncio.Task[Executor], stopping: asyncio.Event) -> Executor | None:
    """None if it had to stop before it was open."""
    import asyncio

    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait((opening, stop), return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if opening.done():
        return opening.result()
    opening.cancel()
    with suppress(asyncio.CancelledError):
        await (await opening).close()
    return None


def _record(settings: Settings) -> None:
    record = {
        "pid": os.getpid(),
        "host": settings.host,
        "port": settings.port,
        "startId": secrets.token_hex(16),
        "dataDir": str(settings.data_dir),
        "version": __version__,
    }
    write_private(settings.daemon_file, json.dumps(record) + "\n")
