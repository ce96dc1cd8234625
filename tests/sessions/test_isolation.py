"""Limits, other Unix users, and what is refused rather than run with less."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.daemon import let_others_in, session_host
from tests.support.sandbox import needs_sandbox

CONFINED = ["insulated", pytest.param("sandbox", marks=needs_sandbox)]
AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can change the user without sudo")


@pytest.mark.parametrize("mode", CONFINED)
async def test_a_flood_of_processes_stays_within_its_limit_and_is_ended(tmp_path: Path, mode: str) -> None:
    """It would end after 400: a test must not bring the machine down where a limit fails."""
    async with session_host(tmp_path, mode=mode, isolation={"limits": {"processes": 40}}) as daemon:
        flood = "for i in $(seq 400); do sleep 300 >/dev/null 2>&1 & done; touch all-started; echo over"
        await daemon.prompt({"run": flood}, {"say": "survived"}, timeout_ms=60_000)
        assert not (tmp_path / "work" / "all-started").exists()
        await daemon.call("shutdown")
        assert await daemon.child.wait() == 0


@pytest.mark.parametrize("mode", CONFINED)
async def test_an_agent_that_fills_the_disk_is_ended(tmp_path: Path, mode: str) -> None:
    limits = {"disk_bytes": 20 * 2**20, "file_bytes": 8 * 2**20}
    async with session_host(tmp_path, mode=mode, isolation={"limits": limits}) as daemon:
        await daemon.prompt({"run": "head -c 50000000 /dev/zero > one"})
        assert (tmp_path / "work" / "one").stat().st_size <= 8 * 2**20
        fill = "for i in 1 2 3 4 5 6 7 8 9; do head -c 5000000 /dev/zero > part$i; done; sleep 100"
        result = await daemon.prompt({"run": fill})
        assert (result["status"], result["error"]["code"]) == ("failed", "limit_exceeded")
        assert "disk_bytes" in result["error"]["message"]


@pytest.mark.parametrize("mode", CONFINED)
async def test_an_agent_that_takes_too_much_memory_is_ended(tmp_path: Path, mode: str) -> None:
    async with session_host(tmp_path, mode=mode, isolation={"limits": {"memory_bytes": 150 * 2**20}}) as daemon:
        code = "import time; kept = bytearray(b'x') * (400 * 2**20); time.sleep(3); print('survived')"
        await daemon.prompt({"run": f'python3 -c "{code}"'})
        assert not daemon.of("tool_call")[-1]["content"] or "survived" not in daemon.output()


async def test_the_environment_is_clean_in_every_mode(tmp_path: Path) -> None:
    async with session_host(tmp_path, mode="simple") as daemon:
        await daemon.prompt({"run": "env; cat /proc/$PPID/environ | tr '\\0' '\\n'"})
        assert "do-not-leak" not in daemon.output()
        assert f"HOME={tmp_path}/session/agent/home" in daemon.output()


@AS_ROOT
async def test_strict_runs_as_another_user_who_can_not_reach_the_daemons_files(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "key").write_text("real")
    let_others_in(tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "home").mkdir()
    for name in ("work", "home"):
        os.chown(tmp_path / name, pwd.getpwnam("games").pw_uid, 0)
    isolation = {"unix_user": "games", "home": str(tmp_path / "home")}
    async with session_host(tmp_path, mode="strict", isolation=isolation) as daemon:
        result = await daemon.prompt({"run": "id -un; touch mine"}, {"read": str(tmp_path / "data" / "key")})
        assert result["status"] == "completed", result
        assert daemon.output() == "games\n"
        assert "refused" in daemon.text()
        await daemon.prompt({"run": f"kill -9 {daemon.child.pid}; cat /proc/{daemon.child.pid}/environ"})
        assert "not permitted" in daemon.output().lower()
        await daemon.prompt({"run": "(setsid sleep 1000 >/dev/null 2>&1 &); echo done"})
    assert not processes_of("games")
    assert owner(tmp_path / "work" / "mine") == pwd.getpwnam("games").pw_uid


@pytest.mark.parametrize(
    ("isolation", "words"),
    [
        ({"mode": "strict"}, "needs a Unix user"),
        ({"mode": "strict", "unix_user": "no-such-user"}, "no Unix user 'no-such-user'"),
        ({"mode": "strict", "unix_user": "root"}, "never run as root"),
        ({"mode": "insulated", "unix_user": "games"}, "runs as the daemon's user"),
    ],
)
async def test_what_can_not_be_had_is_refused_and_nothing_runs(
    tmp_path: Path, isolation: dict[str, Any], words: str
) -> None:
    async with session_host(tmp_path, mode=isolation.pop("mode"), isolation=isolation) as daemon:
        result = await daemon.prompt({"run": "touch made"})
        assert result["error"]["code"] == "isolation_unavailable"
        assert words in result["error"]["message"]
    assert not (tmp_path / "work" / "made").exists()


async def test_without_a_sandbox_a_directory_with_settings_of_the_agent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "work" / ".claude").mkdir(parents=True)
    (tmp_path / "work" / ".claude" / "settings.json").write_text("{}")
    root = tmp_path / "agents" / "claude-code" / "node_modules"
    (root / "@agentclientprotocol" / "claude-agent-acp").mkdir(parents=True)
    (root / "@agentclientprotocol" / "claude-agent-acp" / "package.json").write_text('{"version": "0.0.0"}')
    async with session_host(tmp_path, agents_directory=str(tmp_path / "agents")) as daemon:
        result = await daemon.prompt("hello", agentic_tool="claude-code")
        assert "would load .claude/settings.json" in result["error"]["message"]


def processes_of(user: str) -> list[Path]:
    return [one for one in Path("/proc").glob("[0-9]*") if owner(one) == pwd.getpwnam(user).pw_uid]


def owner(path: Path) -> int:
    try:
        return path.stat().st_uid
    except OSError:
        return -1
