"""A real upstream that counts: every effect is appended to a file before it is answered.

`python -m tests.support.ledger EFFECTS_FILE [DELAY_MS]` prints its address first. A charge with an idempotency key acts
once for that key; an entry acts every time it is asked to, so a doubled send shows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

THING = {"type": "object", "properties": {"key": {"type": "string"}, "amount": {"type": "integer"}}}
BODY = {"content": {"application/json": {"schema": {**THING, "required": ["key"]}}}, "required": True}
ANSWER = {"200": {"description": "done", "content": {"application/json": {"schema": {"type": "object"}}}}}
KEY = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}


def operation(tag: str, name: str, **more: Any) -> dict[str, Any]:
    return {"tags": [tag], "operationId": name, "summary": f"{name} of the ledger", "responses": ANSWER, **more}


def query(name: str, type: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": type}}


DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Ledger", "version": "1"},
    "paths": {
        "/entries": {
            "get": operation("entries", "listEntries", parameters=[query("key", "string")]),
            "post": operation("entries", "addEntry", requestBody=BODY),
        },
        "/entries/{key}": {
            "delete": operation(
                "entries",
                "removeEntry",
                parameters=[{"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}],
            )
        },
        "/charges": {"post": operation("charges", "charge", requestBody=BODY, parameters=[KEY])},
        "/transfers": {"post": operation("transfers", "transfer", requestBody=BODY)},
        "/slow": {"get": operation("slow", "wait", parameters=[query("ms", "integer")])},
        "/fail": {"get": operation("fail", "fail", parameters=[query("status", "integer")])},
        "/wrong": {"get": operation("wrong", "wrong")},
        "/big": {"get": operation("big", "big", parameters=[query("bytes", "integer")])},
    },
}


class Ledger(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, effects: Path, delay_ms: int = 0, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), Handler)
        self.effects = effects
        self.delay = delay_ms / 1000
        self.lock = threading.Lock()
        self.charged: dict[str, Any] = {}
        self.reads = 0
        self.posts = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no news here."""

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"

    def act(self, kind: str, key: str) -> dict[str, Any]:
        with self.lock, self.effects.open("a") as file:
            file.write(json.dumps([kind, key]) + "\n")
        return {"kind": kind, "key": key}

    def charge(self, idempotency_key: str, key: str) -> dict[str, Any]:
        with self.lock:
            known = self.charged.get(idempotency_key)
        if known is None:
            known = self.act("charge", key)
            self.charged[idempotency_key] = known
        return known


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Ledger

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        path, _, text = self.path.partition("?")
        given = dict(parse_qsl(text))
        if path == "/openapi.json":
            self.reply(200, {**DOCUMENT, "servers": [{"url": self.server.url}]})
        elif path == "/slow":
            time.sleep(int(given.get("ms", "0")) / 1000)
            self.reply(200, {"waited": given.get("ms")})
        elif path == "/fail":
            self.reply(int(given.get("status", "500")), {"reason": "as asked"})
        elif path == "/wrong":
            self.reply(200, "<html>not JSON</html>", "text/html")
        elif path == "/big":
            self.reply(200, {"data": "x" * int(given["bytes"])})
        else:
            self.server.reads += 1
            self.pause()
            self.reply(200, {"key": given.get("key")})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "key" not in body:  # somebody asks what this is
            self.reply(404, {"reason": "not here"})
            return
        self.server.posts += 1
        self.pause()
        if self.path == "/charges":
            answer = self.server.charge(self.headers.get("Idempotency-Key", ""), body["key"])
        else:
            answer = self.server.act(self.path.strip("/"), body["key"])
        self.pause()
        self.reply(200, answer)

    def do_DELETE(self) -> None:
        self.reply(200, self.server.act("remove", self.path.rpartition("/")[2]))

    def pause(self) -> None:
        if self.server.delay:
            time.sleep(self.server.delay)

    def reply(self, status: int, value: Any, type: str = "application/json") -> None:
        data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def effects(path: Path) -> list[tuple[str, str]]:
    if not path.exists():
        return []
    return [tuple(json.loads(line)) for line in path.read_text().splitlines()]


@contextmanager
def running_ledger(file: Path, milliseconds: int = 0, host: str = "127.0.0.1") -> Iterator[str]:
    """The address of one in a process of its own, which outlives every daemon and no test."""
    command = [sys.executable, "-m", "tests.support.ledger", str(file), str(milliseconds), host]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


if __name__ == "__main__":
    ledger = Ledger(Path(sys.argv[1]), int((*sys.argv, 0)[2]), *sys.argv[3:])
    print(ledger.url, flush=True)
    ledger.serve_forever()
