"""A repository's set-up script: run once in the session's own isolation, before its agent gets the first prompt."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

from executor.errors import SessionFailed
from executor.sessions.agents.agent import Agent
from executor.sessions.agents.records import Record
from executor.sessions.host.running_agent import make_place, targets_of
from executor.sessions.isolation.place import Place
from executor.sessions.isolation.process import Process
from executor.sessions.isolation.relays import Relays
from executor.sessions.protocol.host_settings import HostSettings, SetupScript

MAX_OUTPUT = 32 * 1024  # the end of it counts
Report = Callable[[Record], Awaitable[None]]


async def run_setup(script: SetupScript, agent: Agent, settings: HostSettings, cwd: str, report: Report) -> None:
    """Its output becomes a notice of the transcript. Raises SessionFailed if it fails or takes too long."""
    await report(_notice("Running the repository's set-up script …"))
    code, output = await _run(script, agent, settings, cwd)
    text = f"Set-up script: {output}" if output else "The set-up script has no output."
    if code == 0:
        await report(_notice(text))
        return
    await report(_notice(text, level="error"))
    reason = f"took longer than {script['seconds']} s" if code is None else f"ended with code {code}"
    last = output.rstrip().rpartition("\n")[2][:300]
    raise SessionFailed(
        f"the repository's set-up script {reason}" + (f": {last}" if last else ""),
        hint="correct it in the setting session_setup_scripts, then send the prompt again",
    )


async def _run(script: SetupScript, agent: Agent, settings: HostSettings, cwd: str) -> tuple[int | None, str]:
    """Its code, None if it was stopped, and its output. It reaches the allowed hosts, and no model."""
    place = make_place(agent, settings, cwd)
    egress = {name: target for name, target in targets_of(settings).items() if name == "egress"}
    relays = place.make_relays(egress)
    try:
        await relays.prepare()
        process, ours = await _start(place, script["script"], relays)
        reading = asyncio.create_task(_read(ours))
        try:
            await asyncio.wait([process.ending], timeout=script["seconds"])
            is_late = not process.ending.done()
        finally:  # also when its task is stopped
            _, ending = await process.stop(0)
        return (None if is_late else ending.code if ending.code is not None else -1), await reading
    finally:
        await relays.close()


async def _start(place: Place, script: str, relays: Relays) -> tuple[Process, int]:
    """Its process, and a descriptor to read its output from."""
    ours, theirs = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        return await place.start(["/bin/sh", "-eu", "-c", script], {}, [nothing, theirs, theirs], relays), ours
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
        os.close(nothing)


async def _read(descriptor: int) -> str:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
    )
    kept = b""
    try:
        while data := await reader.read(65536):
            kept = (kept + data)[-MAX_OUTPUT:]
    finally:
        transport.close()
    return kept.decode(errors="replace")


def _notice(text: str, level: str = "info") -> Record:
    return Record("notice", {"id": "set-up", "text": text, "level": level})
