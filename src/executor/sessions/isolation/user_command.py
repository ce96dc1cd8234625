"""A command that the daemon has another Unix user run, for as long as that takes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import IO

from executor.errors import SessionFailed
from executor.sessions.isolation.process import Process, Program
from executor.sessions.isolation.unix_user import UnixUser

SECONDS = 300.0


async def run_as(
    user: UnixUser, command: Sequence[str], env: dict[str, str], stdin: IO[bytes] | None, stdout: IO[bytes],
    stderr: IO[bytes], max_bytes: int,
) -> int:  # fmt: skip
    """Its code. Nothing of it is left afterwards. No file that it writes gets larger than `max_bytes`."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        given = [stdin.fileno() if stdin else nothing, stdout.fileno(), stderr.fileno()]
        limits = {"RLIMIT_FSIZE": max_bytes, "RLIMIT_CORE": 0}
        process = await Process.start(Program(command, env, "/", given, rlimits=limits, private=True), user)
    finally:
        os.close(nothing)
    await asyncio.wait([process.ending], timeout=SECONDS)
    is_late = not process.ending.done()
    _, ending = await process.stop(0)
    if is_late or ending.code is None:
        raise SessionFailed(f"a command as {user.name!r} took longer than {SECONDS:g} s", hint="try again")
    return ending.code
