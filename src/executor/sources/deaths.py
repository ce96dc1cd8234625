"""Why the process that read a document gave no answer, as far as the way it ended tells, and what to do about it."""

from __future__ import annotations

import signal

from executor.errors import DocumentInvalid, SourceError
from executor.sources.worker import CPU_SECONDS, MEMORY_BYTES, OUT_OF_MEMORY

SMALLER = "remove what isn't used from it, or split it"
CRASHES = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})


def explained(status: int) -> SourceError:
    """`status` as a process has it: negative is the signal that ended it."""
    if status == OUT_OF_MEMORY:
        gigabytes = MEMORY_BYTES // 1024**3
        return DocumentInvalid(
            f"reading the document takes more than the {gigabytes} GB of memory that it may take",
            hint=SMALLER,
            reason="memory",
        )
    if status == -signal.SIGXCPU:
        return DocumentInvalid(
            f"reading the document takes more than the {CPU_SECONDS} seconds of CPU time that it may take",
            hint=SMALLER,
            reason="cpu",
        )
    if status >= 0:
        return SourceError(
            f"the process that read the document ended with status {status} and without an answer",
            hint="that is a fault of Executor; the daemon's log has the details",
            reason="crash",
        )
    return by_signal(-status)


def by_signal(number: int) -> SourceError:
    name = signal_name(number)
    if number in CRASHES:
        return SourceError(
            f"the process that read the document crashed ({name})",
            hint="that is a fault of Executor, or of a library, that this document brings out; please report it",
            reason="crash",
        )
    if number == signal.SIGKILL:
        return SourceError(
            f"the process that read the document was killed from outside ({name})",
            hint="the system does that when it runs out of memory: look in its log, free some memory, try again",
            reason="killed",
        )
    return SourceError(
        f"the process that read the document was ended from outside ({name})", hint="try again", reason="killed"
    )


def too_long(seconds: float) -> DocumentInvalid:
    return DocumentInvalid(
        f"the document could not be read within {seconds:g} seconds",
        hint=f"if the machine is busy, try again later; else {SMALLER}",
        reason="timeout",
    )


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
