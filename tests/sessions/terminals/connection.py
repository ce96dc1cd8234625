"""Someone at a terminal's WebSocket: what came, as xterm.js would show it by way of the model."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from executor.sessions.terminals.emulator.emulator import Emulator
from tests.support.sessions import LIMIT, Session, wait_for

PROMPT = ">>"
# Short on every screen, and different from what is typed.
SET_PROMPT = "PS1='>''> '"


def rows_of(emulator: Emulator) -> list[str]:
    return ["".join(line.chars).rstrip() for line in list(emulator.screen.lines)]


def last_row(emulator: Emulator) -> str:
    return next((row for row in reversed(rows_of(emulator)) if row), "")


class Attached:
    """Reads in a thread. `screens` counts how often the screen came whole."""

    def __init__(self, connection: ClientConnection) -> None:
        self._socket = connection
        self.states: list[dict[str, Any]] = []
        self.output = b""
        self.emulator = Emulator(80, 24)
        self.closed: tuple[int, str] | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for message in self._socket:
                if isinstance(message, bytes):
                    self.output += message
                    self.emulator.feed(message)
                    continue
                state = json.loads(message)
                if state["type"] == "screen":
                    self.emulator = Emulator(state["cols"], state["rows"])
                self.states.append(state)
        except ConnectionClosed:
            pass
        close = self._socket.protocol
        self.closed = (close.close_code or 0, close.close_reason or "")

    @property
    def screens(self) -> int:
        return len(self.of("screen"))

    def of(self, type: str) -> list[dict[str, Any]]:
        return [one for one in self.states if one["type"] == type]

    @property
    def state(self) -> dict[str, Any]:
        return [one for one in self.states if one["type"] in ("screen", "writer")][-1]

    def rows(self) -> list[str]:
        return rows_of(self.emulator)

    def type(self, text: str) -> None:
        self._socket.send(text.encode())

    def say(self, **message: Any) -> None:
        self._socket.send(json.dumps(message))

    def see(self, text: str) -> None:
        """Text that was typed is shown too: to see that a command has run, see what is not in it."""
        self.wait(lambda: any(text in row for row in self.rows()), f"{text!r} on the screen")

    def see_prompt(self) -> None:
        self.wait(lambda: last_row(self.emulator) == PROMPT, "the prompt")

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        try:
            return wait_for(condition, what)
        except AssertionError as error:
            shown = "\n".join(self.rows()).rstrip()
            raise AssertionError(f"{error}: {self.states[-3:]} {self.closed}\n{shown}") from None

    def close(self) -> None:
        self._socket.close()


def open_terminal(session: Session, **fields: Any) -> Any:
    return session.daemon.post(f"{session.path}/terminals", {"cols": 80, "rows": 24, **fields})


def wait_until_left(session: Session) -> None:
    """A connection that was closed here may still be open, and writing, there."""
    shown = f"{session.path}/terminals"
    wait_for(lambda: not any(one["watchers"] for one in session.daemon.get(shown)["items"]), "that everyone has left")


def ticket_of(session: Session, terminal: Any, token: str | None = None) -> str:
    path = f"{session.path}/terminals/{terminal['id']}/ticket"
    found: str = session.daemon.request("POST", path, **({"token": token} if token else {}))["ticket"]
    return found


def connection(
    session: Session, path: str, token: str | None = None, *, is_slow: bool = False, **headers: str
) -> ClientConnection:
    """Of what is sent to a slow one, little is kept on the way until it is read."""
    sent = {"Authorization": f"Bearer {token or session.daemon.token()}", **headers}
    url = session.daemon.url.replace("http", "ws", 1) + path
    own = None
    if is_slow:
        own = socket.socket()
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 * 1024)
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1024)  # the sender's buffer is a multiple of it
        own.connect((urlsplit(url).hostname, urlsplit(url).port))
    return connect(
        url, additional_headers={k: v for k, v in sent.items() if v}, compression=None, open_timeout=LIMIT,
        max_size=None, max_queue=1 if is_slow else 16, ping_interval=None, proxy=None, sock=own,
    )  # fmt: skip


@contextmanager
def attach(
    session: Session,
    terminal: Any,
    *,
    ticket: str = "",
    token: str | None = None,
    write: str = "if_free",
    **fields: Any,
) -> Iterator[Attached]:
    ticket = ticket or ticket_of(session, terminal, token)
    with connection(session, f"{session.path}/terminals/{terminal['id']}/socket", token) as opened:
        opened.send(json.dumps({"type": "attach", "ticket": ticket, "write": write, **fields}))
        attached = Attached(opened)
        attached.wait(lambda: attached.screens or attached.closed, "the first screen")
        yield attached
