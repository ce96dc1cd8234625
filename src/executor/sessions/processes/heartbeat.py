"""Whether an executor process is still there. One that has ended closes its connection at once; one that is frozen, or
hangs, is found by asking. A process that works is never taken for one that hangs, however slow the machine is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from executor.sessions.processes.process import ExecutorProcess, Failed

PING_SECONDS = 30.0
PINGS = 4  # in the time after which a process that says nothing is lost


async def watch(process: ExecutorProcess, silent_seconds: float) -> None:
    """Returns when the process is gone; closes the connection to one that neither answers nor works."""
    loop = asyncio.get_running_loop()
    pause = min(PING_SECONDS, silent_seconds / PINGS)
    heard, worked = loop.time(), cpu_time(process.process.pid)
    while process.is_alive:
        await asyncio.sleep(pause)
        try:
            await process.peer.call("ping", {}, timeout=pause)
            heard = loop.time()
        except Failed:
            if (now := cpu_time(process.process.pid)) != worked:
                heard, worked = loop.time(), now
        if loop.time() - heard >= silent_seconds:
            process.peer.close(f"it has neither answered nor done anything for {silent_seconds:g} s")


def cpu_time(pid: int) -> int:
    """In ticks; -1 for a process that is not there."""
    try:
        user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    except (OSError, ValueError):
        return -1
    return int(user) + int(system)
