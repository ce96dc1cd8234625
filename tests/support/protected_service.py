"""A service that wants credentials, echoes whatever it is sent in many writings, and remembers what it got."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

SCHEMES: dict[str, Any] = {
    "header_key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    "query_key": {"type": "apiKey", "in": "query", "name": "api_key"},
    "cookie_key": {"type": "apiKey", "in": "cookie", "name": "session"},
    "login": {"type": "http", "scheme": "basic"},
    "token": {"type": "http", "scheme": "bearer"},
    "second": {"type": "apiKey", "in": "header", "name": "X-App-Id"},
}
OPERATIONS: dict[str, list[dict[str, list[str]]]] = {
    "header": [{"header_key": []}],
    "query": [{"query_key": []}],
    "cookie": [{"cookie_key": []}],
    "basic": [{"login": []}],
    "bearer": [{"token": []}],
    "both": [{"header_key": [], "second": []}],
    "open": [],
    "undeclared": [],
    "fails": [{"token": []}],
    "leave": [{"token": []}],
    "down": [{"token": []}],
    "leaveQuery": [{"query_key": []}],
}


def document(base: str) -> dict[str, Any]:
    paths = {
        f"/{name}": {
            "get": {"operationId": name, "tags": ["use"], "security": security, "responses": {"200": {}}},
            "post": {
                "operationId": f"{name}Write", "tags": ["use"], "security": security,
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {"200": {}},
            },
        }
        for name, security in OPERATIONS.items()
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "Guarded", "version": "1"},
        "servers": [{"url": base}],
        "components": {"securitySchemes": SCHEMES},
        "paths": paths,
    }


class ProtectedService(ThreadingHTTPServer):
    """`seen` are the requests as they came. `accepts` are the values that open it; empty means any that is there."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[dict[str, Any]] = []
        self.accepts: set[str] = set()
        self.elsewhere = ""
        self.extra: dict[str, Any] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [one for one in self.seen if one["path"] != "/openapi.json"]


class Handler(BaseHTTPRequestHandler):
    server: ProtectedService
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.server.seen.append({"path": parts.path, "query": query, "headers": headers, "method": self.command})
        if parts.path == "/openapi.json":
            return self.answer(200, {**document(self.server.url), **self.server.extra})
        values = secrets_in(headers, query)
        name = parts.path.strip("/")
        if name in ("leave", "leaveQuery"):
            return self.redirect(self.server.elsewhere)
        if name != "open" and (not values or (self.server.accepts and not self.server.accepts & set(values))):
            return self.answer(401, {"message": "who are you?", "got": values})
        if name == "fails":
            return self.answer(500, {"message": f"cannot use {' '.join(values)}", "trace": echoes(values)})
        if name == "down":
            self.close_connection = True
            self.connection.close()
            return None
        return self.answer(200, {"body": body, "echoes": echoes(values), "headers": headers, "url": self.path})

    do_POST = do_GET  # noqa: N815 - the name is the standard library's

    def redirect(self, location: str) -> None:
        self.send_response(302)
        self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, status: int, value: Any) -> None:
        data = gzip.compress(json.dumps(value).encode())
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None: ...


def secrets_in(headers: dict[str, str], query: dict[str, str]) -> list[str]:
    found = [headers[name] for name in ("x-api-key", "x-app-id") if name in headers]
    found += [query["api_key"]] if "api_key" in query else []
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if scheme == "Bearer":
        found.append(rest)
    if scheme == "Basic":
        found.append(base64.b64decode(rest).decode().partition(":")[2])
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        found += [value] if name == "session" else []
    return found


def echoes(values: list[str]) -> dict[str, Any]:
    """Every value in every writing that a client would decode without thinking."""
    found: dict[str, Any] = {}
    for number, value in enumerate(values):
        data = value.encode()
        found[str(number)] = {
            "plain": value,
            "inside": f"<{value}>",
            "base64": [base64.b64encode(b"x" * shift + data + b"yy").decode() for shift in range(3)],
            "urlsafe": base64.urlsafe_b64encode(b"user:" + data).decode(),
            "hex": data.hex(),
            "quoted": quote(value, safe=""),
            "json": json.dumps({"v": value}),
            value: "as a key",
        }
    return found


@contextmanager
def running() -> Iterator[ProtectedService]:
    server = ProtectedService()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
