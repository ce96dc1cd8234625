"""Terminals: handed over by descriptor, under the session's isolation, and gone for certain."""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import termios
from pathlib import Path

import pytest

from executor.sessions.protocol.credentials import is_pty
from executor.sessions.protocol.lines import RpcError
from tests.sessions.daemon import LIMIT, Daemon, session_host
from tests.support.conditions import until
from tests.support.sandbox import needs_sandbox

MODES = ["simple", pytest.param("sandbox", marks=needs_sandbox)]


async def spawn(daemon: Daemon, **fields: object) -> tuple[dict[str, object], int]:
    params = {"session_token": daemon.token, "cwd": daemon.cwd, "shell": "/bin/bash", "cols": 100, "rows": 30, **fields}
    answer, descriptor = await daemon.peer.call_for_descriptor("spawn_terminal", params, LIMIT)
    assert descriptor is not None
    return answer, descriptor


async def read_until(descriptor: int, text: str) -> str:
    """The end of a terminal is an error, not an end of file."""
    data = ""
    os.set_blocking(descriptor, False)

    def read() -> bool:
        nonlocal data
        try:
            data += os.read(descriptor, 65536).decode(errors="replace")
        except BlockingIOError:
            return False
        except OSError:
            return True
        return text in data

    await until(read, text)
    return data


@pytest.mark.parametrize("mode", MODES)
async def test_a_terminal_runs_under_the_sessions_isolation_at_the_size_asked_for(tmp_path: Path, mode: str) -> None:
    async with session_host(tmp_path, mode=mode) as daemon:
        answer, descriptor = await spawn(daemon, env={"GREETING": "hi"})
        assert is_pty(descriptor)
        os.write(descriptor, b"stty size; echo $GREETING-$((6*7)); pwd; env | grep -c do-not-leak\n")
        seen = await read_until(descriptor, "\n0\r")
        assert "30 100" in seen
        assert "hi-42" in seen
        assert daemon.cwd in seen
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 140, 0, 0))
        os.write(descriptor, b"stty size; tty >/dev/null && echo a-$((40+2))\n")
        assert "50 140" in await read_until(descriptor, "a-42\r")
        os.write(descriptor, b"exit 7\n")
        await until(lambda: daemon.ended_terminals, "the end")
        assert daemon.ended_terminals[0]["terminal_id"] == answer["terminal_id"]
        assert daemon.ended_terminals[0]["code"] == 7
        os.close(descriptor)
    assert list((tmp_path / "work").iterdir()) == []


@needs_sandbox
async def test_a_terminal_and_an_agent_share_the_protection_of_paths_until_both_have_ended(tmp_path: Path) -> None:
    async with session_host(tmp_path, mode="sandbox") as daemon:
        answer, descriptor = await spawn(daemon)
        await daemon.prompt("hello")
        assert (await daemon.call("terminate_terminal", terminal_id=answer["terminal_id"])) == {"absent": True}
        os.close(descriptor)
        await daemon.prompt({"write": {"path": ".mcp.json", "text": "evil"}}, {"run": "cat .mcp.json; echo read"})
        assert daemon.output() == "read\n"
    assert list((tmp_path / "work").iterdir()) == []


async def test_closing_the_descriptor_or_terminating_ends_everything_in_it(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        answer, descriptor = await spawn(daemon)
        os.write(descriptor, b"trap '' HUP TERM; (trap '' HUP; setsid sleep 1000) & echo go-$((1+1))\n")
        await read_until(descriptor, "go-2")
        assert (await daemon.call("terminate_terminal", terminal_id=answer["terminal_id"])) == {"absent": True}
        os.close(descriptor)
        _, second = await spawn(daemon)
        os.close(second)
        await until(lambda: len(daemon.ended_terminals) == 2, "the end of both")


async def test_bad_requests_for_a_terminal_are_refused(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        for fields in ({"shell": "/usr/bin/passwd"}, {"env": {"A": 1}}, {"cwd": ""}):
            with pytest.raises(RpcError):
                await spawn(daemon, **fields)
        with pytest.raises(RpcError, match="no terminal 'x'"):
            await daemon.call("terminate_terminal", terminal_id="x")
        opened = await asyncio.gather(*(spawn(daemon) for _ in range(8)))
        with pytest.raises(RpcError, match="at most 8"):
            await spawn(daemon)
        for _, descriptor in opened:
            os.close(descriptor)
