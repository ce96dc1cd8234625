"""A process that sealed itself, and one that serves as a worker: neither reaches files, network or other processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from executor.runtime.typescript.runtime import TypeScriptRuntime
from executor.runtime.worker.seal import _ARCHITECTURES, _DENIED, _filter

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")


def read_proc(pid: int, name: str) -> bytes:
    return Path(f"/proc/{pid}/{name}").read_bytes()


def open_files(pid: int) -> set[str]:
    return {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}


PROBES = {
    "read a file": "open('/etc/passwd').read()",
    "read the environment of another": "open('/proc/1/environ', 'rb').read()",
    "list a directory": "os.listdir('/')",
    "write a file": "open(target, 'w')",
    "make a directory": "os.mkdir(target)",
    "open a socket": "socket.socket()",
    "open a unix socket": "socket.socket(socket.AF_UNIX)",
    "make a socket pair": "socket.socketpair()",
    "start a process": "os.posix_spawn('/bin/true', ['true'], {})",
    "fork": "os.fork()",
    "replace itself": "os.execv('/bin/true', ['true'])",
    "signal its parent": "os.kill(os.getppid(), 0)",
    "change its root": "os.chroot('/')",
    "become another user": "os.setuid(0)",
    "make an anonymous file": "os.memfd_create('x')",
    "trace its parent": "trace(os.getppid())",
}
SCRIPT = """
import ctypes, json, os, socket, sys, threading
from executor.runtime.worker import seal
probes, target = json.loads(sys.argv[1]), sys.argv[2]
def trace(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, pid, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
layers = seal.apply(data_bytes=1 << 30)
outcome = {}
for name, probe in probes.items():
    try:
        exec(probe)
        outcome[name] = "done"
    except OSError as error:
        outcome[name] = "refused"
ran = []
thread = threading.Thread(target=lambda: ran.append(1)); thread.start(); thread.join()
print(json.dumps({"layers": [list(layer) for layer in layers], "outcome": outcome, "thread": ran}))
"""


@pytest.fixture(scope="module")
def probe_results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    target = tmp_path_factory.mktemp("sealed") / "made"
    command = [sys.executable, "-c", SCRIPT, json.dumps(PROBES), str(target)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment)
    report: dict[str, object] = json.loads(done.stdout)
    assert not target.exists()
    return report


@linux_only
@pytest.mark.parametrize("probe", PROBES)
def test_a_sealed_process_cannot(probe_results: dict[str, dict[str, str]], probe: str) -> None:
    assert probe_results["outcome"][probe] == "refused"


@linux_only
def test_a_sealed_process_can_still_start_threads(probe_results: dict[str, object]) -> None:
    assert probe_results["thread"] == [1]


@linux_only
def test_each_layer_is_reported_with_what_it_does(probe_results: dict[str, list[list[object]]]) -> None:
    assert [layer[0] for layer in probe_results["layers"]] == [
        "rlimits",
        "network namespace",
        "no new privileges",
        "landlock",
        "seccomp",
    ]
    assert all(detail for _, _, detail in probe_results["layers"])
    assert probe_results["layers"][0][1] is True


@linux_only
@pytest.mark.asyncio(loop_scope="session")
async def test_the_worker_reports_its_layers(runtime: TypeScriptRuntime) -> None:
    assert {layer.name for layer in runtime.layers if layer.active} >= {"rlimits", "no new privileges", "seccomp"}


@linux_only
@pytest.mark.asyncio(loop_scope="session")
async def test_a_worker_is_confined_as_the_kernel_sees_it(runtime: TypeScriptRuntime) -> None:
    for pid in runtime.worker_pids:
        status = read_proc(pid, "status").decode()
        assert "\nSeccomp:\t2\n" in status
        assert "\nNoNewPrivs:\t1\n" in status


@linux_only
@pytest.mark.asyncio(loop_scope="session")
async def test_a_worker_has_neither_the_daemon_s_environment_nor_its_files(
    runtime: TypeScriptRuntime, monkeypatch: pytest.MonkeyPatch, cache_dir: Path
) -> None:
    monkeypatch.setenv("EXECUTOR_TEST_SECRET", "must not be seen")
    with (cache_dir / "inherited").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        other = TypeScriptRuntime(workers=1, slots=1, cache_dir=cache_dir)
        await other.start()
        (pid,) = other.worker_pids
        environment, files = read_proc(pid, "environ"), open_files(pid)
        await other.close()
    assert b"must not be seen" not in environment
    assert not any("inherited" in name for name in files)


def test_every_architecture_has_a_filter_that_fits() -> None:
    for column, audit, _, clone in _ARCHITECTURES.values():
        program = _filter(column, audit, clone)
        assert len(program) % 8 == 0
        assert len(program) // 8 < 4096
        numbers = [pair[column] for pair in _DENIED.values() if pair[column] is not None]
        assert len(numbers) == len(set(numbers))
