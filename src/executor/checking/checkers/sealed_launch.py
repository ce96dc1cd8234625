"""Becomes a checker: seals the process first, then executes the program in it.

Checkers read what agents write. One that is fooled finds no network, no file but its own and no other program. Imports
as little as it can: this runs before every start of a checker.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from executor.runtime.worker import seal

# What a program needs to come up at all; landlock says which files it may open.
CALLS = frozenset({"execve", "open", "openat"})
_BOOT = (
    "import sys; sys.path[:0] = [sys.argv[1]]; "
    "from executor.checking.checkers.sealed_launch import main; main(sys.argv[2:])"
)


def command(program: Path, arguments: list[str], *, readable: list[str], data_bytes: int) -> list[str]:
    """Starts `program` sealed: it may read `readable`, and ends with the thread that started it."""
    root = str(Path(__file__).parents[3])
    allowed = os.pathsep.join([str(program), *readable])
    words = [root, str(data_bytes), allowed, str(program), *arguments]
    return [sys.executable, "-I", "-S", "-c", _BOOT, *words]


def main(words: list[str]) -> None:
    data_bytes, readable, program, *arguments = words
    seal.apply(data_bytes=int(data_bytes), room=seal.Room(tuple(readable.split(os.pathsep)), CALLS))
    seal.die_with_parent()  # after the new user namespace, which would forget it
    os.execv(program, [program, *arguments])  # noqa: S606 - the program is ours, by its path
