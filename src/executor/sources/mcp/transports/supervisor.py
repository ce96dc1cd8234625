"""Runs one command, and ends everything it has started when the daemon says so, or is gone.

    python -I -S supervisor.py DESCRIPTOR COMMAND...

A process of its own, of the standard library alone. What a command starts in the background and leaves behind becomes
a child of this process (a "subreaper", on Linux), so that nothing escapes by forking twice or by leaving its group.
DESCRIPTOR is a socket of the daemon: the first line said on it is 0 or the error number of the start; `t` asks all to
end, and its end, which comes however the daemon ends, kills all.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from contextlib import suppress

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
NOT_STARTED = 127
ROUNDS = 500  # of killing: some may have become another user's
MEANT_FOR_THE_COMMAND = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)
LOCALE = "LC_CTYPE"  # the interpreter sets it where the locale is C; the command gets what was meant for it


def main() -> int:
    line = socket.socket(fileno=int(sys.argv[1]))
    line.set_inheritable(False)
    control_process(PR_SET_CHILD_SUBREAPER, 1)
    for number in MEANT_FOR_THE_COMMAND:
        signal.signal(number, signal.SIG_IGN)  # the daemon decides, and the end of its socket says so
    pid, problem = start(sys.argv[2:])
    with suppress(OSError):
        line.sendall(f"{problem}\n".encode())
    if problem:
        return NOT_STARTED
    let_go_of_streams()
    return supervise(line, pid)


def control_process(option: int, value: int) -> None:
    """Where the system can't, a process group is all that is ended."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def start(command: list[str]) -> tuple[int, int]:
    """The process, and the error number if the command can't be run."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        control_process(PR_SET_PDEATHSIG, signal.SIGKILL)  # without its supervisor it would be no one's
        for number in MEANT_FOR_THE_COMMAND:
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execvpe(command[0], command, given_environment())  # noqa: S606 - a human has agreed to it
        except OSError as error:
            os.write(writing, str(error.errno or 1).encode())
        finally:
            os._exit(NOT_STARTED)
    os.close(writing)
    message = os.read(reading, 16)
    os.close(reading)
    return pid, int(message or b"0")


def given_environment() -> dict[str, str]:
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - importing less starts sooner
            was_given = f"{LOCALE}=".encode() in file.read()
    except OSError:
        was_given = True
    return {name: value for name, value in os.environ.items() if was_given or name != LOCALE}


def let_go_of_streams() -> None:
    """Anyone who reads what the command says must see its end, though this process continues."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)


def supervise(line: socket.socket, leader: int) -> int:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    status = 0
    while True:
        ended, has_children = reap(leader)
        status = status if ended is None else ended
        if not has_children:
            return status
        readable, _, _ = select.select([line.fileno(), reading], [], [])
        if reading in readable:
            os.read(reading, 4096)
        if line.fileno() in readable and not asks_to_end(line):
            kill_all()
            return status


def asks_to_end(line: socket.socket) -> bool:
    """False at the end of the socket."""
    try:
        said = line.recv(1)
    except OSError:
        return False
    if said:
        signal_all(signal.SIGTERM)
    return bool(said)


def reap(leader: int) -> tuple[int | None, bool]:
    """The leader's exit status if it has just ended, and whether anything is left to wait for."""
    status = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, False
        if pid == 0:
            return status, True
        if pid == leader:
            code = os.waitstatus_to_exitcode(ended)
            status = code if code >= 0 else 128 - code


def kill_all() -> None:
    """Stopped first, so that none starts another while the others are killed; again until all are gone."""
    for _ in range(ROUNDS):
        signal_all(signal.SIGSTOP)
        signal_all(signal.SIGKILL)
        if not reap(0)[1]:
            return
        select.select([], [], [], 0.005)


def signal_all(number: int) -> None:
    found = descendants()
    if found is None and number != signal.SIGSTOP:
        os.killpg(os.getpgrp(), number)  # this process too, which has nothing left to do if it is killed
    for pid in found or ():
        with suppress(OSError):
            os.kill(pid, number)


def descendants() -> set[int] | None:
    """Everything below this process. None where the system doesn't say."""
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - as above
    except OSError:
        return None
    parents = {pid: parent for pid in numbers if (parent := parent_of(pid)) is not None}
    if os.getpid() not in parents:
        return None
    below = more = {os.getpid()}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more} - below
        below = below | more
    return below - {os.getpid()}


def parent_of(pid: int) -> int | None:
    """None for one that has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - as above
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state == b"Z" else int(parent)


if __name__ == "__main__":
    sys.exit(main())
