"""Whatever the command of a source has started ends with it, and with the daemon, however it tries to stay."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.conditions import wait_for
from tests.support.daemon import Daemon

# Polite to the daemon; each way of leaving something behind writes the number of what it left into the directory.
FAMILY = """
import json, os, signal, subprocess, sys, time
directory, ways = sys.argv[1], sys.argv[2:]

def stay(way):
    for fd in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), fd)
    with open(os.path.join(directory, way), "w") as file:
        file.write(str(os.getpid()))
    while True:
        time.sleep(600)

def leave(way):
    if os.fork():
        os.wait()
        return
    if way != "same-group":
        os.setsid()
    if os.fork():
        os._exit(0)
    if way == "deaf":
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    if way == "renamed":
        os.execve(sys.executable, [sys.executable, sys.argv[0], directory, "stay"], {})
    if way == "deeper":
        leave("deepest")
    stay(way)

if ways == ["stay"]:
    stay("renamed")
for way in ways:
    leave(way)
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
             "serverInfo": {"name": "family", "version": "1"}}
    elif m.get("method") == "tools/list":
        r = {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""
WAYS = ["same-group", "own-session", "deaf", "renamed", "deeper"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    made = Daemon(tmp_path_factory.mktemp("orphans"), EXECUTOR_WORKERS="1")
    made.start()
    yield made
    made.stop()


def connect(daemon: Daemon, directory: Path) -> tuple[str, set[int]]:
    """The source, and everything that its command has left in the background."""
    script = directory / "family.py"
    script.write_text(FAMILY)
    left = directory / "left"
    left.mkdir()
    command = [sys.executable, str(script), str(left), *WAYS]
    body = {"kind": "mcp", "namespace": "family", "consent": True, "command": command}
    source = daemon.request("POST", "/v1/sources", body, timeout=120)
    expected = {*WAYS, "deepest"}
    wait_for(lambda: {path.name for path in left.iterdir() if path.read_text()} == expected)
    pids = {int(path.read_text()) for path in left.iterdir()}
    assert all(psutil.pid_exists(pid) for pid in pids)
    return source["id"], pids


def are_gone(pids: set[int]) -> bool:
    return not any(is_alive(pid) for pid in pids)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_104_removing_a_source_ends_what_its_command_left_behind(daemon: Daemon, tmp_path: Path) -> None:
    """Defence: `sources/mcp/transports/supervisor.py`, which adopts what is left behind and kills it."""
    source, pids = connect(daemon, tmp_path)
    daemon.request("DELETE", f"/v1/sources/{source}", timeout=120)
    wait_for(lambda: are_gone(pids))


def test_104_a_killed_daemon_leaves_no_command_behind(daemon: Daemon, tmp_path: Path) -> None:
    """Defence: the supervisor sees the end of the daemon's socket, which comes however the daemon ends."""
    source, pids = connect(daemon, tmp_path)
    daemon.kill()
    wait_for(lambda: are_gone(pids))
    daemon.start()
    daemon.request("DELETE", f"/v1/sources/{source}", timeout=120)


def test_104_a_killed_supervisor_takes_its_command_along(daemon: Daemon, tmp_path: Path) -> None:
    """Defence: the command dies with its parent; the daemon starts it again when it is needed."""
    source, pids = connect(daemon, tmp_path)
    assert daemon.process is not None
    below = psutil.Process(daemon.process.pid).children(recursive=True)
    (supervisor,) = [one for one in below if any(word.endswith("supervisor.py") for word in one.cmdline())]
    leader = next(one for one in below if one.ppid() == supervisor.pid and one.pid not in pids)
    supervisor.kill()
    wait_for(lambda: not is_alive(leader.pid))
    for pid in pids:  # its orphans are nobody's now, since nothing was left to adopt them
        if is_alive(pid):
            psutil.Process(pid).kill()
    daemon.request("DELETE", f"/v1/sources/{source}", timeout=120)
