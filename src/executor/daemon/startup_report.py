"""What a starting daemon reports to the process that started it: progress, then ready or the error that ended it.

JSON lines on an inherited pipe when the CLI started it; plain lines on standard error in the foreground.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any, Protocol

from executor.errors import ExecutorError


class Report(Protocol):
    detached: bool

    def progress(self, text: str) -> None: ...

    def ready(self, address: str) -> None: ...

    def fail(self, error: ExecutorError) -> None: ...


class PipeReport:
    """The reader may be gone: then the reports go nowhere, and the daemon continues."""

    detached = True

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        os.set_inheritable(descriptor, False)

    def progress(self, text: str) -> None:
        self._send({"progress": text})

    def ready(self, address: str) -> None:
        self._send({"ready": True, "address": address}, last=True)

    def fail(self, error: ExecutorError) -> None:
        failure = {"code": error.code, "message": error.message, "hint": error.hint}
        self._send({"error": failure}, last=True)

    def _send(self, message: dict[str, Any], *, last: bool = False) -> None:
        if self._descriptor is None:
            return
        with contextlib.suppress(OSError):
            os.write(self._descriptor, json.dumps(message).encode() + b"\n")
        if last:
            os.close(self._descriptor)
            self._descriptor = None


class TerminalReport:
    """The error itself is raised on to the command, which knows how to show it."""

    detached = False

    def progress(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def ready(self, address: str) -> None:
        print(f"listening on {address}", file=sys.stderr, flush=True)

    def fail(self, error: ExecutorError) -> None:
        pass
