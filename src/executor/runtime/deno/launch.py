"""The process that becomes Deno: it seals itself, reports how, and executes the program in its own place.

Imports as little as it can: it is between every execution and its sandbox.
"""

from __future__ import annotations

import os

from executor.runtime.worker import seal

_STDOUT = 1
# Deno opens its own files, makes a socket pair for signals, and is itself executed; all else stays refused.
_CALLS = frozenset({"execve", "open", "openat", "socketpair"})
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/dev/urandom", "/dev/null")


def main(data_bytes: int, arguments: list[str]) -> None:
    """`arguments`: the command to become. Its last word is the one script it may read."""
    seal.die_with_parent()
    room = seal.Room((arguments[0], arguments[-1], *_LIBRARIES), _CALLS)
    layers = seal.apply(data_bytes=data_bytes, room=room)
    seal.die_with_parent()  # again: a new user namespace forgets it
    os.write(_STDOUT, seal.greeting(layers))
    os.execve(arguments[0], arguments, dict(os.environ))  # noqa: S606 - a list of our own, no shell
