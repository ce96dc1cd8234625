"""Sessions of a real daemon with the scripted agent: started, prompted and followed over the API."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.conditions import wait_for
from tests.support.daemon import Daemon

LIMIT = 120.0
ENDED = ("completed", "failed", "cancelled", "interrupted")


class Session:
    """Steps are what the scripted agent does: see `sessions/agents/fake/agent.py`."""

    def __init__(self, daemon: Daemon, cwd: Path | None, **fields: Any) -> None:
        self.daemon = daemon
        body = {"agent": "fake", "isolation": "insulated", **({"cwd": str(cwd)} if cwd else {}), **fields}
        self.id: str = daemon.post("/v1/sessions", body)["id"]

    @property
    def path(self) -> str:
        return f"/v1/sessions/{self.id}"

    def view(self) -> Any:
        return self.daemon.get(self.path)

    def send(self, *steps: dict[str, Any] | str, **fields: Any) -> Any:
        """Without waiting."""
        text = steps[0] if len(steps) == 1 and isinstance(steps[0], str) else json.dumps(steps)
        return self.daemon.post(f"{self.path}/prompt", {"prompt": text, **fields})

    def prompt(self, *steps: dict[str, Any] | str) -> Any:
        """Until it has ended."""
        return self.end_of(self.send(*steps))

    def task(self, task: Any) -> Any:
        return self.daemon.get(f"{self.path}/tasks/{task['id']}")

    def end_of(self, task: Any) -> Any:
        return wait_for(lambda: (now := self.task(task))["status"] in ENDED and now, f"the end of {task['id']}")

    def messages(self, kind: str = "") -> list[Any]:
        found = self.daemon.get(f"{self.path}/messages?limit=1000")["items"]
        shown = sorted(found, key=lambda one: one["position"])
        return [one for one in shown if kind in ("", one["kind"])]

    def text(self) -> str:
        return "".join(one["text"] for one in self.messages("text"))

    def asked(self) -> Any:
        """The permission request that is open."""
        return wait_for(lambda: self.pending(), "a permission request")[0]

    def pending(self) -> list[Any]:
        found = self.daemon.get("/v1/interactions?status=pending&limit=100")["items"]
        return [one for one in found if one["sessionId"] == self.id]


class Follower:
    """Reads a session's stream in a thread, and keeps what came."""

    def __init__(self, session: Session, after: int = 0, last_event_id: int | None = None) -> None:
        self.frames: list[tuple[str, Any]] = []
        self._session = session
        self._connection = http.client.HTTPConnection(urlsplit(session.daemon.url).netloc, timeout=LIMIT)
        headers = {"Authorization": f"Bearer {session.daemon.token()}", "Accept": "text/event-stream"}
        headers |= {"Last-Event-ID": str(last_event_id)} if last_event_id is not None else {}
        self._connection.request("GET", f"{session.path}/messages?after={after}", headers=headers)
        self._socket = self._connection.sock
        self._response = self._connection.getresponse()
        assert self._response.status == 200, self._response.read()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        kind = ""
        try:
            for raw in self._response:
                name, _, value = raw.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    self.frames.append((kind, json.loads(value)))
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            return

    def records(self) -> dict[str, Any]:
        """What a client would show: records by id, with what was appended."""
        found: dict[str, Any] = {}
        for kind, data in list(self.frames):
            if kind == "message":
                found[data["id"]] = dict(data)
            elif kind == "append":
                found[data["id"]]["text"] += data["text"]
                found[data["id"]]["sequence"] = data["sequence"]
        return found

    def close(self) -> None:
        """Shut down first: the thread holds the response until something comes, which may take a while."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(LIMIT)
        self._connection.close()


@contextmanager
def following(session: Session, **options: Any) -> Iterator[Follower]:
    follower = Follower(session, **options)
    try:
        yield follower
    finally:
        follower.close()
