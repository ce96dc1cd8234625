"""Becomes a checker: seals the process first, then executes the program in it.

Checkers read what agents write. One that is fooled finds no network, no file but its own and no other program. Imports
as little as it can: this runs before every start of a checker.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from executor.runtime.worker import seal

# What a program needs to come up at all; landlock says which files it may open.
CALLS = frozenset({"execve", "open", "openat"})
# Nothing of the daemon's own environment: it may hold secrets.
ENVIRONMENT = {"LANG": "C.UTF-8", "GOMAXPROCS": "2", "GOMEMLIMIT": "384MiB", "GOGC": "60", "GOTRACEBACK": "none"}
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
_BOOT = (
    "import sys; sys.path[:0] = [sys.argv[1]]; "
    "from executor.checking.checkers.sealed_launch import main; main(sys.argv[2:])"
)


def command(program: Path, arguments: list[str], *, readable: list[str], data_bytes: int, bound: bool) -> list[str]:
    """Starts `program` sealed. `readable` is what it may read; `bound` if it ends with the thread that started it."""
    root = str(Path(__file__).parents[3])
    allowed = os.pathsep.join([str(program), *readable])
    words = [root, str(data_bytes), str(int(bound)), allowed, str(program), *arguments]
    return [sys.executable, "-I", "-S", "-c", _BOOT, *words]


def script(program: Path, *, data_bytes: int) -> str:
    """The same as a program of its own, for those who take the path of a program and add their arguments."""
    words = command(program, [], readable=list(LIBRARIES), data_bytes=data_bytes, bound=False)
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def main(words: list[str]) -> None:
    data_bytes, bound, readable, program, *arguments = words
    seal.apply(data_bytes=int(data_bytes), room=seal.Room(tuple(readable.split(os.pathsep)), CALLS))
    if bound == "1":
        seal.die_with_parent()  # after the new user namespace, which would forget it
    os.execve(program, [program, *arguments], ENVIRONMENT)  # noqa: S606 - the program is ours, by its path
