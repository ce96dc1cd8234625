"""The blanker process: takes types out of code, one request at a time, until its parent is gone.

The parser runs without end on some nonsense and can't be interrupted, so it has a process that may die of it. The time
that a request may take grows with its size: nonsense of a few bytes ends soon.
"""

from __future__ import annotations

import os
import signal
import sys

from executor.runtime.javascript.program_source import Refused, prepare
from executor.runtime.worker import frames, seal
from executor.runtime.worker.frames import Fault, Reply

TOO_LONG = signal.SIGPROF  # what a request of too much CPU time dies of
_LEAST_SECONDS, _SECONDS_PER_BYTE, _MOST_SECONDS = 0.1, 10e-6, 2.0
_DATA_BYTES = 1 << 30


def seconds(size: int) -> float:
    return min(_LEAST_SECONDS + size * _SECONDS_PER_BYTE, _MOST_SECONDS)


def reply_to(code: bytes) -> Reply:
    try:
        return Reply(frames.STEP, 0, None, frames.encode_source(prepare(code)))
    except Refused as refused:
        fault = Fault("syntax_error", refused.message, refused.hint, refused.line, refused.column)
    except Exception as error:  # noqa: BLE001 - this process serves no one else
        fault = Fault(
            "syntax_error", f"the code can't be parsed: {type(error).__name__}", "check that it is TypeScript"
        )
    return Reply(frames.STEP, 0, fault, b"")


def main(descriptor: int) -> None:
    seal.die_with_parent()
    reply_to(b"const one: number = 1;")  # loads what is needed while files can still be opened
    layers = seal.apply(data_bytes=_DATA_BYTES)
    seal.die_with_parent()  # again: a new user namespace forgets it
    frames.write_all(descriptor, seal.greeting(layers))
    while (code := frames.read_frame(descriptor)) is not None:
        signal.setitimer(signal.ITIMER_PROF, seconds(len(code)))
        reply = frames.encode_reply(reply_to(code))
        signal.setitimer(signal.ITIMER_PROF, 0)
        frames.write_all(descriptor, reply)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
