"""A sandbox host in a network namespace of its own: all it can reach is the daemon, over one private link.

It needs root and changes the machine's network for a moment, so it runs only when asked: EXECUTOR_TEST_NETNS=1.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.remote.host_process import HostProcess
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon

pytestmark = pytest.mark.skipif(not os.environ.get("EXECUTOR_TEST_NETNS"), reason="EXECUTOR_TEST_NETNS is not set")
HERE, THERE = "10.231.77.1", "10.231.77.2"


def ip(words: str, *, inside: int | None = None) -> None:
    entered = ["nsenter", "-t", str(inside), "-n"] if inside else []
    subprocess.run([*entered, "ip", *words.split()], check=True)


@pytest.fixture
def namespace() -> Iterator[int]:
    """The id of a process that holds the namespace, with a link to it."""
    holder = subprocess.Popen(["unshare", "-n", "sleep", "300"])  # noqa: S607 - found on the path
    ours = Path("/proc/self/ns/net").readlink()
    wait_for(lambda: Path(f"/proc/{holder.pid}/ns/net").readlink() != ours)
    try:
        ip(f"link add exv0 type veth peer name exv1 netns {holder.pid}")
        ip(f"addr add {HERE}/30 dev exv0")
        ip("link set exv0 up")
        ip(f"addr add {THERE}/30 dev exv1", inside=holder.pid)
        ip("link set exv1 up", inside=holder.pid)
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()
        subprocess.run(["ip", "link", "del", "exv0"], check=False, capture_output=True)  # noqa: S607


class NearDaemon(Daemon):
    @property
    def url(self) -> str:
        return f"http://{HERE}:{self.port}"


def test_code_runs_on_a_host_in_another_network_namespace(tmp_path: Path, namespace: int) -> None:
    host = HostProcess(tmp_path, prefix=("nsenter", "-t", str(namespace), "-n"), host=THERE)
    host.start()
    daemon = NearDaemon(tmp_path, EXECUTOR_HOST=HERE, **host.variables)
    daemon.start()
    try:
        body = {"code": "return (await tools.discover({query: 'x'})).total", "runtime": "remote", "wait": 30}
        view = daemon.post("/v1/executions", body)
        assert view["status"] == "completed", view
        ip("link set exv0 down")
        waiting = daemon.post("/v1/executions", {"code": "return 2", "runtime": "remote", "wait": 0})
        ip("link set exv0 up")
        path = f"/v1/executions/{waiting['executionId']}"
        assert wait_for(lambda: daemon.get(path)["status"] == "completed")
    finally:
        daemon.stop()
        host.stop()
