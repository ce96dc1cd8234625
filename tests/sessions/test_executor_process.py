"""The executor process from outside: its socket, its messages, its end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from executor.sessions.protocol.lines import RpcError
from executor.sessions.protocol.peer import ConnectionClosed
from tests.sessions.daemon import LIMIT, let_others_in, session_host, start_host
from tests.support.conditions import until
from tests.support.processes import is_alive
from tests.support.sandbox import needs_sandbox


async def ask(path: Path, message: dict[str, Any]) -> dict[str, Any]:
    """As `nc -U` does it."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode() + b"\n")
    writer.write_eof()
    answer = await asyncio.wait_for(reader.readline(), LIMIT)
    writer.close()
    found: dict[str, Any] = json.loads(answer)
    return found


async def test_it_says_what_it_does_answers_ping_without_a_token_and_removes_its_socket(tmp_path: Path) -> None:
    path, log = tmp_path / "host.sock", tmp_path / "log"
    child = await start_host(path, log, None)
    await until(lambda: "ready" in log.read_text(), "ready")
    assert re.search(rf"starting as \w+ \(uid {os.getuid()}\)\n.*socket {path}\n.*listening\n.*ready", log.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    answer = await ask(path, {"method": "ping", "params": {}})
    assert answer["result"]["pong"] is True
    assert re.match(r"\d{4}-\d\d-\d\dT", answer["result"]["timestamp"])
    refused = await ask(path, {"method": "execute_prompt", "params": {"session_token": "x"}})
    assert refused["error"] == {"code": -32600, "message": "the session token is wrong"}
    assert (await ask(path, {"method": "launch_missiles", "params": {}}))["error"]["code"] == -32601
    child.terminate()
    assert await asyncio.wait_for(child.wait(), LIMIT) == 0
    assert not path.exists()
    assert "ended" in log.read_text()


async def test_no_method_but_ping_works_with_a_wrong_token(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        for method in ("execute_prompt", "stop_task", "spawn_terminal", "terminate_terminal", "shutdown"):
            for token in ("", "wrong", None, 7, daemon.token + "x"):
                with pytest.raises(RpcError) as caught:
                    await daemon.peer.call(method, {"session_token": token}, LIMIT)
                assert caught.value.code == -32600
        assert (await daemon.prompt("hello"))["status"] == "completed"


async def test_a_second_connection_can_not_take_the_session_over(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        await daemon.prompt("hello")
        answer = await ask(daemon.path, {"method": "shutdown", "params": {"session_token": daemon.token}})
        assert answer["error"]["message"] == "another connection holds this session"
        assert (await daemon.prompt("still here"))["status"] == "completed"


async def test_the_token_is_in_no_argument_and_no_environment(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        await daemon.prompt("hello")
        for entry in ("cmdline", "environ"):
            assert daemon.token.encode() not in read(f"/proc/{daemon.child.pid}/{entry}")


@pytest.mark.parametrize("how", ["shutdown", "disconnect", "SIGTERM"])
async def test_however_it_ends_nothing_of_its_agent_is_left(tmp_path: Path, how: str) -> None:
    async with session_host(tmp_path) as daemon:
        await daemon.prompt({"run": "setsid sleep 1000 >/dev/null 2>&1 & echo $!"})
        child = int(daemon.output())
        assert is_alive(child)
        if how == "shutdown":
            assert await daemon.call("shutdown", reason="test") == {"accepted": True}
        elif how == "disconnect":
            daemon.peer.close()
        else:
            daemon.child.terminate()
        assert await asyncio.wait_for(daemon.child.wait(), LIMIT) == 0
        assert not is_alive(child)
        assert not daemon.path.exists()


@pytest.mark.parametrize("mode", ["insulated", pytest.param("sandbox", marks=needs_sandbox)])
async def test_killing_it_leaves_no_process_of_its_agent(tmp_path: Path, mode: str) -> None:
    async with session_host(tmp_path, mode=mode) as daemon:
        await daemon.prompt({"run": "(setsid sleep 1000 >/dev/null 2>&1 &) ; echo ran"})
        mark = str(tmp_path).encode()
        before = processes_with(mark)
        assert before
        daemon.child.kill()
        await asyncio.wait_for(daemon.child.wait(), LIMIT)
        await until(lambda: not processes_with(mark), "their end")


async def test_when_the_supervisor_itself_is_killed_what_it_watched_is_found_and_ended(tmp_path: Path) -> None:
    async with session_host(tmp_path, mode="simple") as daemon:
        await daemon.prompt({"run": "setsid sleep 1000 >/dev/null 2>&1 & echo $!"})
        child = int(daemon.output())
        result = await daemon.prompt({"run": "kill -9 $(awk '/^PPid/{print $2}' /proc/$PPID/status)"}, {"sleep": 60})
        assert (result["status"], result["error"]["code"]) == ("failed", "agent_failed")
        assert not is_alive(child)
        assert (await daemon.prompt("again"))["status"] == "completed"


async def test_it_ends_when_the_daemon_closes_the_settings_without_sending_any(tmp_path: Path) -> None:
    child = await start_host(tmp_path / "host.sock", tmp_path / "log", "")
    assert await asyncio.wait_for(child.wait(), LIMIT) == 0
    assert not (tmp_path / "host.sock").exists()


async def test_the_socket_of_a_process_that_was_killed_is_replaced_and_one_in_use_is_not(tmp_path: Path) -> None:
    path = tmp_path / "host.sock"
    first = await start_host(path, tmp_path / "first", None)
    await until(lambda: "ready" in (tmp_path / "first").read_text(), "ready")
    second = await start_host(path, tmp_path / "second", None)
    assert await asyncio.wait_for(second.wait(), LIMIT) != 0
    assert "can't listen" in (tmp_path / "second").read_text()
    first.send_signal(signal.SIGKILL)
    await first.wait()
    third = await start_host(path, tmp_path / "third", None)
    await until(lambda: "ready" in (tmp_path / "third").read_text(), "ready")
    assert (await ask(path, {"method": "ping"}))["result"]["pong"] is True
    third.terminate()
    await third.wait()


async def test_bad_parameters_are_refused_with_what_is_wrong(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        for fields, words in (
            ({"prompt": ""}, "prompt"),
            ({"prompt": 7}, "prompt"),
            ({"cwd": None}, "cwd"),
            ({"agentic_tool": "skynet"}, "no agent 'skynet'"),
            ({"permission_mode": "yolo"}, "no permission mode 'yolo'"),
            ({"timeout_ms": -1}, "timeout_ms"),
            ({"tools": "all"}, "tools"),
            ({"session_id": "another"}, "another session"),
        ):
            with pytest.raises(RpcError) as caught:
                await daemon.prompt("hello", **fields)
            assert words in caught.value.message
        assert (await daemon.prompt("hello"))["status"] == "completed"


async def test_a_connection_that_breaks_off_in_the_middle_of_a_message_changes_nothing(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        for garbage in (b'{"jsonrpc":"2.0","id":1,"me', b"\0" * 1000 + b"\n", b"[" * 100_000 + b"\n"):
            _, writer = await asyncio.open_unix_connection(daemon.path)
            writer.write(garbage)
            writer.close()
        assert (await daemon.prompt("hello"))["status"] == "completed"


async def test_a_session_keeps_its_directory_and_runs_one_task_at_a_time(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        running = asyncio.create_task(daemon.prompt({"hang": 1}, task_id="first"))
        await until(lambda: "running" in daemon.progress, "the first task")
        with pytest.raises(RpcError, match="task first is still running"):
            await daemon.prompt("second")
        await daemon.call("stop_task", task_id="first")
        assert (await running)["status"] == "cancelled"
        with pytest.raises(RpcError, match="keeps its agent and its directory"):
            await daemon.prompt("elsewhere", cwd=str(tmp_path))


async def test_it_refuses_another_users_connection(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can act as someone else")
    async with session_host(tmp_path) as daemon:
        let_others_in(tmp_path)
        daemon.path.chmod(0o666)
        code = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(daemon.path)!r}); print(s.recv(1))"
        child = await asyncio.create_subprocess_exec(
            "/usr/bin/python3", "-c", code, user=65534, stdout=asyncio.subprocess.PIPE, cwd="/", env={}
        )
        out, _ = await asyncio.wait_for(child.communicate(), LIMIT)
        assert out.strip() == b"b''"
        assert "refused a connection of uid 65534" in daemon.log.read_text()


async def test_pending_calls_fail_when_it_is_killed(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        running = asyncio.create_task(daemon.prompt({"hang": 1}))
        await until(lambda: "running" in daemon.progress, "the task")
        daemon.child.kill()
        with pytest.raises(ConnectionClosed):
            await running


def read(path: str) -> bytes:
    return Path(path).read_bytes()


def processes_with(text: bytes) -> list[int]:
    """Whose arguments, environment or directory name the text, except this one and its kin."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in (os.getpid(), os.getppid()):
            continue
        try:
            seen = (entry / "environ").read_bytes() + os.fsencode((entry / "cwd").readlink())
        except OSError:
            continue
        if text in seen:
            found.append(int(entry.name))
    return found


async def test_a_set_up_script_ends_with_the_task_that_runs_it(tmp_path: Path) -> None:
    script = {"script": "touch begun; setsid sleep 1000 & sleep 1000", "seconds": 600}
    async with session_host(tmp_path, setup=script) as daemon:
        prompting = asyncio.create_task(daemon.prompt("hello", task_id="t1"))
        await until((tmp_path / "work" / "begun").exists, "the set-up script")
        assert processes_with(os.fsencode(tmp_path / "work"))
        stopped = await daemon.call("stop_task", task_id="t1", reason="enough")
        assert stopped["absent"] is True
        assert (await prompting)["status"] == "cancelled"
        assert not processes_with(os.fsencode(tmp_path / "work"))
