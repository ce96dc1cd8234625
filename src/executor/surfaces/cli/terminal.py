"""This terminal, attached to one of a session: keys go there, and everything it shows comes here."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from executor.errors import InvalidRequest
from executor.surfaces.cli.client import Client, segment
from executor.surfaces.cli.output import clean, program, say

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

DETACH = b"\x1d"  # Ctrl-]
CHUNK = 32 * 1024
# Before a screen is drawn, and when one leaves: whatever a program had switched on is off.
CLEAR = b"\x1b[?1049l\x1b[!p\x1b[0m\x1b[H\x1b[2J"
LEAVE = (
    b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?7h\x1b[?25h"
    b"\x1b[4l\x1b(B\x0f\x1b[r\x1b[0m\x1b[0 q\r\n"
)


def attach_terminal(client: Client, session_id: str, terminal_id: str, write: str) -> None:
    """Until it is left or has ended; then the process exits with the code of its shell."""
    check_terminal()
    path = f"/v1/sessions/{segment(session_id)}/terminals/{segment(terminal_id)}"
    ticket = client.post(f"{path}/ticket")["ticket"]
    say("Ctrl-] detaches")
    with client.open_socket(f"{path}/socket") as socket:
        socket.send(json.dumps({"type": "attach", "ticket": ticket, "write": write, **size()}))
        ended = Attached(socket).run()
    if ended is None:
        say("detached; to attach again:")
        say(f"  {program()} sessions attach {clean(session_id)} --terminal {clean(terminal_id)}")
        return
    say(clean(f"the terminal closed: {ended.get('reason') or ended.get('message') or 'the connection was lost'}"))
    code = ended.get("code")
    raise SystemExit(code if isinstance(code, int) and 0 <= code < 256 else 1)


def check_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidRequest("attaching needs a terminal", hint="run it in one, without pipes")


def size() -> dict[str, int]:
    """Of the terminal itself: `COLUMNS` in the environment may be that of another, or older."""
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    return {"cols": columns, "rows": rows}


class Attached:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ended: dict[str, Any] = {}
        self._is_writing = False
        self._wake, self._waker = os.pipe()  # a byte for a change of size, the end when the connection ends

    def run(self) -> dict[str, Any] | None:
        """How it ended; None if it was left."""
        reading = threading.Thread(target=self._read, daemon=True)
        before = signal.signal(signal.SIGWINCH, lambda *_: os.write(self._waker, b"w"))
        try:
            with raw_terminal():
                reading.start()
                is_left = self._type()
        finally:
            signal.signal(signal.SIGWINCH, before)
        self._socket.close()
        reading.join(5)
        return None if is_left else self._ended

    def _type(self) -> bool:
        """True if it was left."""
        keyboard = sys.stdin.fileno()
        while True:
            ready = select.select([keyboard, self._wake], [], [])[0]
            if self._wake in ready:
                if b"e" in os.read(self._wake, CHUNK):
                    return False
                self._send(json.dumps({"type": "resize", **size()}) if self._is_writing else "")
            if keyboard in ready:
                typed = os.read(keyboard, CHUNK)
                before, left, _ = typed.partition(DETACH)
                self._send(before if self._is_writing else b"")
                if left or not typed:
                    return True

    def _send(self, content: str | bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        if content:
            with suppress(ConnectionClosed):
                self._socket.send(content)

    def _read(self) -> None:
        from websockets.exceptions import ConnectionClosed

        with suppress(ConnectionClosed):
            for message in self._socket:
                if isinstance(message, bytes):
                    show(message)
                else:
                    self._note(json.loads(message))
        os.write(self._waker, b"e")

    def _note(self, message: dict[str, Any]) -> None:
        if message["type"] in ("screen", "writer"):
            self._is_writing = message["writing"]
        if message["type"] == "screen":
            show(CLEAR)
        elif message["type"] in ("ended", "error"):
            self._ended = message


def show(data: bytes) -> None:
    while data:
        data = data[os.write(sys.stdout.fileno(), data) :]


@contextmanager
def raw_terminal() -> Iterator[None]:
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    tty.setraw(keyboard)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        show(LEAVE)
