"""An API that attacks whoever looks at it: markup, scripts and invisible characters wherever text can stand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MARKUP = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
TURNED = "safe\u202egnp.exe"


def operation(name: str, text: str = MARKUP) -> dict[str, Any]:
    answer = {"200": {"description": text}}
    return {"operationId": name, "summary": text, "description": text, "tags": ["hostile"], "responses": answer}


def document(host: str) -> dict[str, Any]:
    parameter = {"name": "q", "in": "query", "description": MARKUP, "schema": {"type": "string", "description": MARKUP}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Evil {MARKUP} {TURNED}", "version": "1"},
        "servers": [{"url": f"http://{host}"}],
        "paths": {
            "/echo": {"get": {**operation("echo"), "parameters": [parameter]}, "post": operation("create", TURNED)},
        },
    }


def many(host: str, count: int) -> dict[str, Any]:
    """A document of that many operations."""
    paths = {
        f"/group{index % 100}/item{index}": {
            "get": {
                "operationId": f"getItem{index}",
                "summary": f"Get item number {index}",
                "tags": [f"group{index % 100}"],
                "responses": {"200": {"description": "it"}},
            }
        }
        for index in range(count)
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Many", "version": "1"},
        "servers": [{"url": f"http://{host}"}],
        "paths": paths,
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        host = str(self.headers["Host"])
        known = {"/openapi.json": lambda: document(host), "/many.json": lambda: many(host, 10_000)}
        self._answer(known.get(self.path, lambda: {"text": MARKUP, TURNED: [MARKUP, TURNED]})())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._answer({})

    def _answer(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def running() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
