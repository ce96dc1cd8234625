"""An upstream that hangs, drops and answers at length on demand; and a clock that a daemon can be given."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CLOCK = """
import os, time
real, offset = time.time, float(os.environ.get("TEST_CLOCK_OFFSET", "0"))
time.time = lambda: real() + offset
"""
MODULE = """
import threading
go_on = threading.Event()

def hang() -> int:
    go_on.wait(50)
    return 1

def fast() -> int:
    return 2
"""


def operation(name: str, method: str = "get") -> dict[str, Any]:
    parameter = {"name": "n", "in": "query", "schema": {"type": "integer"}}
    answer = {"200": {"description": "", "content": {"application/json": {"schema": {}}}}}
    return {method: {"operationId": name, "tags": ["calls"], "parameters": [parameter], "responses": answer}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BusyService

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        name = self.path.partition("?")[0]
        if name == "/hang":
            self.server.hanging += 1
            self.server.go_on.wait(50)
        if name == "/large":
            self.answer(b'"' + b"x" * 9_900_000 + b'"')
        elif name == "/document":
            self.answer(json.dumps(self.server.document()).encode())
        else:
            self.answer(b"1")

    def do_POST(self) -> None:
        """Takes effect, and never says so."""
        self.server.paths.append(self.path)
        self.close_connection = True

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


class BusyService(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 500

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths: list[str] = []
        self.hanging = 0
        self.go_on = threading.Event()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def document(self) -> dict[str, Any]:
        paths = {f"/{name}": operation(name) for name in ("fast", "hang", "large")}
        paths["/lost"] = operation("lost", "post")
        return {"openapi": "3.1.0", "info": {"title": "busy", "version": "1"}, "servers": [{"url": self.url}],
                "paths": paths}  # fmt: skip

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error here."""


def write_modules(folder: Path) -> Path:
    """A folder for PYTHONPATH: the clock, and a module to connect as a source."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CLOCK)
    (folder / "busy_functions.py").write_text(MODULE)
    return folder
