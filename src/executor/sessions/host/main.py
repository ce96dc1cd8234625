"""`executor session-host`: listens, waits for its settings, serves one session, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import sys
from pathlib import Path

import orjson

from executor.errors import InvalidRequest
from executor.sessions.host.server import Server
from executor.sessions.isolation.limits import remove_empty_groups
from executor.sessions.isolation.unix_user import current_user
from executor.sessions.protocol.host_settings import HostSettings

PARENT_SECONDS = 1.0
MAX_SETTINGS = 2**20
_PR_SET_DUMPABLE = 4


def run(socket_path: Path, settings_descriptor: int | None) -> int:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="session-host: %(message)s")
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # an agent of the same user can't read our memory
    user = current_user()
    say(f"starting as {user.name} (uid {user.uid})")
    say(f"socket {socket_path}")
    return asyncio.run(serve(socket_path, settings_descriptor))


def say(text: str) -> None:
    print(f"session-host: {text}", file=sys.stderr, flush=True)


async def serve(socket_path: Path, settings_descriptor: int | None) -> int:
    try:
        server = Server(socket_path, say, expects_settings=settings_descriptor is not None)
    except OSError as error:
        raise InvalidRequest(
            f"can't listen on {socket_path}: {error.strerror}",
            hint="choose a path in a directory that exists and is yours",
        ) from None
    say("listening")
    server.begin()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.ended.set)
    background = [asyncio.create_task(asyncio.to_thread(remove_empty_groups))]
    if settings_descriptor is not None:
        background += [
            asyncio.create_task(_configure(server, settings_descriptor)),
            asyncio.create_task(_watch_parent(server)),
        ]
    say("ready")
    await server.ended.wait()
    say("ending")
    for task in background:
        task.cancel()
    await server.close()
    say("ended" if server.clean else "ended, but processes of the agent could not be ended")
    return 0 if server.clean else 1


async def _configure(server: Server, descriptor: int) -> None:
    """Without settings nothing but `ping` is answered."""
    reader = asyncio.StreamReader(limit=MAX_SETTINGS)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
    )
    line = await reader.readline()
    if not line.strip():
        say("the daemon closed the settings before it sent any")
        server.ended.set()
        return
    settings: HostSettings = orjson.loads(line)
    server.configure(settings)
    say(f"session {settings['session_id']}, isolation {settings['isolation']['mode']}")


async def _watch_parent(server: Server) -> None:
    """A daemon that is killed before it connects leaves no connection that could close."""
    parent = os.getppid()
    while os.getppid() == parent:  # noqa: ASYNC110 - the kernel has no event for it
        await asyncio.sleep(PARENT_SECONDS)
    say("the daemon is gone")
    server.ended.set()
