"""The parent of an agent's processes: starts one, watches what all of them use, and ends them without exception.

A program of its own, without imports from Executor: it runs as the agent's Unix user, by whatever Python that user has.
Its standard input is a Unix socket. The first line says what to start, and brings the descriptors that it gets as 0, 1,
2 and so on. When the socket closes, for whatever reason, everything is killed. Processes that left the group or the
session are found too, because the supervisor adopts what loses its parent.
"""

import array
import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
INTERVAL = 0.2  # seconds between two looks at what is used
MAX_DESCRIPTORS = 8
REPORT = 250  # the descriptor on which a child says what kept it from starting


def main() -> None:
    control = socket.socket(fileno=os.dup(0))
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_DUMPABLE, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: its end is the executor process's to decide
    order, descriptors = receive_order(control)
    if "sweep" in order:
        say(control, event="swept", left=sweep(order["sweep"]))
        return
    if found := [name for name in order.get("absent", []) if os.path.lexists(os.path.join(order["cwd"], name))]:
        say(control, event="present", name=found[0])
        return
    try:
        for path in order.get("directories", []):
            os.makedirs(path, mode=0o700, exist_ok=True)
        for path, content in order.get("files", {}).items():
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "w") as file:
                file.write(content)
        child = start(order, descriptors)
    except OSError as error:
        say(control, event="failed", message=f"{error.strerror}: {error.filename or order['command'][0]}")
        return
    for descriptor in descriptors:
        os.close(descriptor)
    say(control, event="started", pid=child)
    watch(control, child, order.get("limits", {}))
    say(control, event="absent", left=kill_all())


def receive_order(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, descriptors = b"", array.array("i")
    while not data.endswith(b"\n"):
        chunk, ancillary, _, _ = control.recvmsg(
            1 << 20, socket.CMSG_SPACE(MAX_DESCRIPTORS * 4), socket.MSG_CMSG_CLOEXEC
        )
        if not chunk:
            sys.exit(1)
        data += chunk
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(content)
    return json.loads(data), list(descriptors)


def start(order: dict[str, Any], descriptors: list[int]) -> int:
    """The child reports over a pipe what kept it from starting, if anything did."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    parent, child = os.getpid(), os.fork()
    if child == 0:
        try:
            os.dup2(writing, REPORT, inheritable=False)
            become(order, descriptors, parent)
        except OSError as error:
            os.write(REPORT, json.dumps([error.errno, error.strerror, error.filename or ""]).encode())
        finally:
            os._exit(127)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        failure = pipe.read()
    if failure:
        os.waitpid(child, 0)
        number, text, name = json.loads(failure)
        raise OSError(number, text, name)
    return child


def become(order: dict[str, Any], descriptors: list[int], parent: int) -> None:
    os.setsid()
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    high = [os.dup2(descriptor, 200 + n) for n, descriptor in enumerate(descriptors)]
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number)
    os.closerange(len(high), REPORT)
    os.closerange(REPORT + 1, 65536)
    if order.get("terminal"):
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for name, value in order.get("rlimits", {}).items():
        set_limit(getattr(resource, name), value)
    os.nice(order.get("niceness", 0))
    if order.get("no_new_privileges"):
        prctl(PR_SET_NO_NEW_PRIVS, 1)
    os.umask(0o077 if order.get("private") else 0o022)
    os.chdir(order["cwd"])
    for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.execve(order["command"][0], order["command"], order["env"])


def set_limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def watch(control: socket.socket, child: int, limits: dict[str, Any]) -> None:
    """Until the child has ended, a limit is passed, or the other side says so or is gone."""
    wakeup = socket.socketpair()
    wakeup[1].setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: control.shutdown(socket.SHUT_RD))
    signal.set_wakeup_fd(wakeup[1].fileno(), warn_on_full_buffer=False)
    disk = DiskWatch(limits)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(wakeup[0], select.POLLIN)
    try:
        passed = keep_watch(control, child, limits, disk, poll, wakeup[0])
    finally:
        signal.set_wakeup_fd(-1)
    if passed:
        say(control, event="limit", which=passed, value=limits[passed])


def keep_watch(
    control: socket.socket,
    child: int,
    limits: dict[str, Any],
    disk: "DiskWatch",
    poll: select.poll,
    wakeup: socket.socket,
) -> str:
    """The limit that was passed, if that is why it ended."""
    while True:
        status = reap(child)
        if status is not None:
            say(control, event="exited", code=status)
            return ""
        ready = {descriptor for descriptor, _ in poll.poll(INTERVAL * 1000)}
        if wakeup.fileno() in ready:
            wakeup.recv(4096)
        if control.fileno() in ready and not obey(control, child):
            return ""
        passed = passed_limit(limits) or disk.passed_limit()
        if passed:
            return passed


def obey(control: socket.socket, child: int) -> bool:
    """Whether to keep watching."""
    data = control.recv(4096)
    if b"TERM" in data:
        for process in (child, *descendants()):
            send_signal(process, signal.SIGTERM)
    return bool(data) and b"KILL" not in data


def reap(child: int) -> int | None:
    """Collects what has ended; the exit code if it was the child."""
    found = None
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if process == 0:
            return found
        if process == child:
            found = os.waitstatus_to_exitcode(status)


def passed_limit(limits: dict[str, Any]) -> str:
    if "processes" not in limits and "memory_bytes" not in limits:
        return ""
    processes = descendants()
    if len(processes) > limits.get("processes", len(processes)):
        return "processes"
    if "memory_bytes" in limits and sum(map(private_memory, processes)) > limits["memory_bytes"]:
        return "memory_bytes"
    return ""


class DiskWatch:
    """A walk takes time in a large tree, so that the next one comes the later, the longer it took."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self._limit, self._paths = limits.get("disk_bytes"), limits.get("disk_paths", [])
        self._start, self._next = (self._measure() if self._limit else 0), 0.0

    def passed_limit(self) -> str:
        began = time.monotonic()
        if not self._limit or began < self._next:
            return ""
        used = self._measure() - self._start
        self._next = time.monotonic() + max(1.0, 20 * (time.monotonic() - began))
        return "disk_bytes" if used > self._limit else ""

    def _measure(self) -> int:
        total, pending = 0, list(self._paths)
        while pending:
            try:
                with os.scandir(pending.pop()) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
                        else:
                            total += entry.stat(follow_symlinks=False).st_blocks * 512
            except OSError:
                continue
        return total


def descendants(root: int | None = None) -> list[int]:
    children: dict[int, list[int]] = {}
    for process, parent in parents():
        children.setdefault(parent, []).append(process)
    found, pending = [], [root or os.getpid()]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            yield int(name), int(fields[1])


def private_memory(process: int) -> int:
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            _, resident, shared = file.read().split()[:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * resource.getpagesize()


def kill_all(limit: float = 60.0) -> list[int]:
    """Stops all before it kills, so that none forks meanwhile. Returns what is still there.

    A list of processes is never a picture of one moment, and what forks fast enough can be missed by any. That there is
    no child left is certain: whatever loses its parent becomes our child.
    """
    end = time.monotonic() + limit
    while True:
        left = descendants()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in left:
                send_signal(process, number)
        reap(0)
        if not has_children():
            return []
        if time.monotonic() > end:
            return left or [-1]
        time.sleep(0.005)


def has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def sweep(mark: str) -> list[int]:
    """Kills what carries `mark` in its environment, wherever it hangs: for when a supervisor was itself killed."""
    for _ in range(200):
        left = [
            int(name)
            for name in os.listdir("/proc")
            if name.isdigit() and int(name) != os.getpid() and carries(name, mark)
        ]
        for process in left:
            send_signal(process, signal.SIGKILL)
        if not left:
            return []
        time.sleep(0.02)
    return left


def carries(process: str, mark: str) -> bool:
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return mark.encode() in file.read().split(b"\0")
    except OSError:
        return False


def send_signal(process: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def say(control: socket.socket, **message: object) -> None:
    with suppress(OSError):  # if no one listens, what has to be done is done all the same
        control.sendall(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()
