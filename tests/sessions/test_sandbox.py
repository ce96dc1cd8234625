"""What an agent in a sandbox can reach, see and write. The scripted agent tries; nothing here is a mock."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from executor.sessions.isolation.protected_paths import PROTECTED
from tests.sessions.daemon import Daemon, session_host
from tests.support.conditions import until
from tests.support.sandbox import needs_sandbox

pytestmark = needs_sandbox
SANDBOX: dict[str, Any] = {"mode": "sandbox"}


async def run(daemon: Daemon, command: str) -> str:
    await daemon.prompt({"run": command})
    return daemon.output()


async def test_no_network_no_abstract_socket_and_no_socket_of_the_host_is_reachable(tmp_path: Path) -> None:
    outside = socket.create_server(("127.0.0.1", 0))
    abstract, named = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0executor-test-{os.getpid()}")
    named.bind(str(tmp_path / "docker.sock"))
    with outside, abstract, named:
        abstract.listen()
        named.listen()
        port = outside.getsockname()[1]
        async with session_host(tmp_path, **SANDBOX) as daemon:
            targets = (f"127.0.0.1:{port}", "192.0.2.1:80", "example.com:443", f"@executor-test-{os.getpid()}",
                       str(tmp_path / "docker.sock"), str(daemon.path))  # fmt: skip
            await daemon.prompt(*({"connect": target} for target in targets))
            assert "connected" not in daemon.text()
            assert all(f"refused {target}" in daemon.text() for target in targets)
            code = "import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)"
            assert "PermissionError" in await run(daemon, f"python3 -c '{code}' 2>&1")


async def test_nothing_of_the_host_is_there_but_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret").write_text("another user's")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "key").write_text("the daemon's")
    async with session_host(tmp_path, **SANDBOX, hidden=[str(tmp_path / "data")]) as daemon:
        paths = (tmp_path / "other" / "secret", tmp_path / "data" / "key", "/etc/shadow", "/etc/hostname",
                 str(Path.home() / ".bashrc"),
                 "/proc/1/root/etc/shadow", f"/proc/{os.getpid()}/environ", "/sys/kernel/version")  # fmt: skip
        await daemon.prompt(*({"read": str(path)} for path in paths))
        assert daemon.text().count("refused") == len(paths)
        environment = await run(daemon, "env; cat /proc/*/environ | tr '\\0' '\\n'")
        assert "do-not-leak" not in environment
        assert daemon.token not in environment
        assert await run(daemon, "ls -d /proc/[0-9]* | wc -l") < "9"
        assert "No such process" in await run(daemon, f"kill -9 {os.getpid()} 2>&1")
        assert "agent" in await run(daemon, "id -un")
        assert "CapEff:\t0000000000000000" in await run(daemon, "grep CapEff /proc/self/status")
        assert "NoNewPrivs:\t1" in await run(daemon, "grep NoNewPrivs /proc/self/status")
        assert "0\n" not in await run(daemon, "unshare -U true 2>/dev/null; echo $?")


async def test_the_model_and_mcp_are_reached_through_relays_and_nothing_else_is(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nproxy")
        await writer.drain()
        writer.close()

    model = await asyncio.start_unix_server(answer, tmp_path / "model.sock")
    mcp = await asyncio.start_unix_server(answer, tmp_path / "mcp.sock")
    sockets = {"model_socket": str(tmp_path / "model.sock"), "mcp_socket": str(tmp_path / "mcp.sock")}
    command = list_command()
    agents = {"modelled": {"command": command, "env": ENVIRONMENT, "service": "anthropic"}}
    settings = {**sockets, "mcp": {"url": "http://127.0.0.1:4788/mcp", "token": "session-scoped"}}
    async with model, mcp, session_host(tmp_path, **SANDBOX, **settings, agents=agents) as daemon:
        steps = {"call_model": "/v1/messages"}, {"call_mcp": {"jsonrpc": "2.0", "id": 1, "method": "ping"}}
        await daemon.prompt(*steps, agentic_tool="modelled")
        assert daemon.text() == "proxy proxy "
        assert daemon.keys == ["anthropic"]
    assert b"x-api-key: vk-virtual" in seen[0].lower()
    assert b"POST /mcp" in seen[1] and b"127.0.0.1:4788" in seen[1]
    assert b"Bearer session-scoped" in seen[1]


ENVIRONMENT = {"FAKE_AGENT_KEY": "{api_key}", "FAKE_AGENT_ORIGIN": "{base_url}"}


def list_command() -> list[str]:
    from executor.sessions.agents.table import AGENTS

    return list(AGENTS["fake"].command)


# -- what would be executed later ---------------------------------------------


def repository(folder: Path) -> None:
    git = ["/usr/bin/git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["/usr/bin/git", "init", "-q", str(folder)], check=True)
    (folder / "file").write_text("content")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)


async def test_what_would_run_outside_can_not_be_written_present_or_absent(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / ".envrc").write_text("# mine")
    (work / ".claude").mkdir()
    (work / ".claude" / "settings.json").write_text("{}")
    repository(work)
    (work / "sub").mkdir()
    repository(work / "sub")
    before = snapshot(work)
    targets = [".git/hooks/pre-commit", ".git/config", ".git/hooks", "sub/.git/hooks/pre-commit", "sub/.git/config",
               ".envrc",
               ".vscode/tasks.json", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/x",
               ".mcp.json",
               ".bashrc", ".gitattributes", ".codex/config.toml"]  # fmt: skip
    async with session_host(tmp_path, **SANDBOX) as daemon:
        for target in targets:
            await run(
                daemon, f"mkdir -p $(dirname {target}); echo evil > {target}; mv file {target}; ln -sf /x {target}"
            )
        for parent in (".git", ".claude"):
            await run(daemon, f"mv {parent} moved; mkdir -p {parent}/hooks && echo evil > {parent}/hooks/pre-commit")
        await run(daemon, "ln .git/config linked; echo evil >> linked; echo fine > allowed")
        assert "evil" not in await run(daemon, "cat .bashrc .mcp.json .git/config .envrc")
        listed = await run(
            daemon,
            "git status --porcelain; git add -A && git -c user.name=a -c user.email=a@b commit -qm x; git show --stat",
        )
        assert not any(name.rstrip("/") in listed for name in PROTECTED if "/" not in name.rstrip("/"))
        assert "allowed" in listed
    after = snapshot(work)
    assert (work / "allowed").read_text() == "fine\n"
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    allowed = (
        "allowed",
        "linked",
        "file",
        ".git/index",
        ".git/objects",
        ".git/logs",
        ".git/refs",
        ".git/COMMIT_EDITMSG",
    )
    assert {name for name in changed if not name.startswith(allowed)} == set()
    assert "evil" not in "".join(text for name, text in after.items() if name not in ("linked",))


async def test_stubs_are_removed_also_after_a_kill(tmp_path: Path) -> None:
    async with session_host(tmp_path, **SANDBOX) as daemon:
        await daemon.prompt("hello")
        assert (tmp_path / "work" / ".mcp.json").exists()
        daemon.child.kill()
        await daemon.child.wait()
        await until(
            lambda: not list(Path("/proc").glob("[0-9]*/root/home/agent/fake-agent-history")), "the sandbox's end"
        )
    async with session_host(tmp_path, **SANDBOX) as daemon:
        await daemon.prompt("hello")
    assert list((tmp_path / "work").iterdir()) == []


async def test_a_link_to_something_inside_is_protected_and_restored_and_one_to_outside_is_refused(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    (work / "shared").mkdir(parents=True)
    (work / "shared" / "tasks.json").write_text("{}")
    (work / ".vscode").symlink_to("shared")
    async with session_host(tmp_path, **SANDBOX) as daemon:
        await run(daemon, "echo evil > shared/tasks.json; rm .vscode; mkdir .vscode; echo evil > .vscode/tasks.json")
        await daemon.call("shutdown")
        await daemon.child.wait()
        assert [error["code"] for error in daemon.errors] == ["link_changed"]
    assert (work / ".vscode").readlink() == Path("shared")
    assert (work / "shared" / "tasks.json").read_text() == "{}"
    (work / ".idea").symlink_to(tmp_path)
    async with session_host(tmp_path, **SANDBOX) as daemon:
        result = await daemon.prompt("hello")
        assert "is a symbolic link" in result["error"]["message"]


@pytest.mark.parametrize("directory", ["/", "/usr", "/tmp", str(Path.home())])
async def test_a_directory_that_holds_more_than_a_project_is_refused(tmp_path: Path, directory: str) -> None:
    async with session_host(tmp_path, **SANDBOX) as daemon:
        result = await daemon.prompt("hello", cwd=directory)
        assert result["error"]["code"] == "isolation_unavailable"


async def test_the_daemons_own_directory_is_refused_and_hidden_inside_another(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "data").mkdir(parents=True)
    (work / "data" / "key").write_text("real")
    async with session_host(tmp_path, **SANDBOX, hidden=[str(work / "data")]) as daemon:
        await daemon.prompt(
            {"read": str(work / "data" / "key")}, {"write": {"path": str(work / "data" / "x"), "text": ""}}
        )
        assert daemon.text().count("refused") == 2
    async with session_host(tmp_path, **SANDBOX, hidden=[str(work / "data")]) as daemon:
        result = await daemon.prompt("hello", cwd=str(work / "data"))
        assert "belongs to the daemon" in result["error"]["message"]


async def test_what_the_agent_would_load_looks_empty_to_it(tmp_path: Path) -> None:
    """The masks of each agent are applied by the same code; here with those of Codex and Gemini."""
    from executor.sessions.agents.table import AGENTS
    from executor.sessions.isolation.protected_paths import protect

    work, empty = tmp_path / "work", tmp_path / "empty"
    empty.mkdir()
    (work / ".codex").mkdir(parents=True)
    (work / ".codex" / "config.toml").write_text("evil")
    (work / ".env").write_text("GEMINI_API_KEY=evil")
    for name in ("codex", "gemini"):
        arguments = protect([str(work)], AGENTS[name].masked, empty, tmp_path / "none").arguments
        hidden = {arguments[n + 2]: arguments[n + 1] for n in range(0, len(arguments), 3)}
        for path in AGENTS[name].masked:
            target = str(work / path.rstrip("/"))
            assert hidden[target] in (f"{empty}/file", f"{empty}/directory")


def snapshot(folder: Path) -> dict[str, str]:
    """Every file by name; what a commit adds lies in directories of its own."""
    return {
        str(path.relative_to(folder)): path.read_text(errors="replace")
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
