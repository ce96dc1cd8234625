"""The sample service over HTTP, on the standard library: it starts in the blink of an eye."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from executor.demo.shop import Refused, Shop

MAX_BODY = 1_000_000
DOCUMENT = json.loads(Path(__file__).with_name("openapi.json").read_text(encoding="utf-8"))
_ONE = re.compile(r"/invoices/([^/]+)\Z")
_REFUNDS = re.compile(r"/invoices/([^/]+)/refunds\Z")


class DemoServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.shop = Shop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: DemoServer
    protocol_version = "HTTP/1.1"
    server_version = "executor-demo"
    timeout = 60  # a connection that says nothing would hold a thread and a file of the daemon for ever
    # Headers and body leave as two writes; without this the second waits for the first one's acknowledgement.
    disable_nagle_algorithm: ClassVar[bool] = True

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the demo's terminal belongs to the person who runs it."""

    def _answer(self) -> None:
        try:
            self._check_sender()
            body = self._read()
            status, value = self._route(body)
        except Refused as refused:
            self._send(refused.status, {"title": "Refused", "detail": refused.detail}, "application/problem+json")
        else:
            self._send(status, value, "application/json")

    def _check_sender(self) -> None:
        """No page in a browser, by whatever name it found this: it would write what agents read."""
        port = self.server.server_address[1]
        named = self.headers.get("Host", "")
        foreign = self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
        if named not in (f"127.0.0.1:{port}", f"localhost:{port}") or foreign or "Origin" in self.headers:
            self.close_connection = True
            raise Refused(403, "only programs on this machine may use this API")

    def _read(self) -> Any:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            self.close_connection = True
            raise Refused(413, "the body is too large")
        data = self.rfile.read(int(length))
        try:
            return json.loads(data) if data else None
        except ValueError as error:
            raise Refused(400, "the body is not JSON") from error

    def _route(self, body: Any) -> tuple[int, Any]:
        path, shop = urlsplit(self.path).path, self.server.shop
        if path == "/openapi.json" and self.command == "GET":
            return 200, DOCUMENT
        if path == "/customers" and self.command == "GET":
            return 200, shop.customers()
        if path == "/invoices":
            return (201, shop.create(body)) if self.command == "POST" else (200, self._list())
        if (match := _REFUNDS.match(path)) is not None:
            invoice_id = unquote(match[1])
            if self.command == "POST":
                return 201, shop.refund(invoice_id, body, self.headers.get("Idempotency-Key", ""))
            return 200, shop.refunds(invoice_id)
        if (match := _ONE.match(path)) is not None:
            invoice_id = unquote(match[1])
            if self.command == "DELETE":
                shop.delete(invoice_id)
                return 204, None
            return 200, shop.invoice(invoice_id)
        raise Refused(404, f"there is nothing at {path}")

    def _list(self) -> list[dict[str, Any]]:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        limit = query.get("limit", "20")
        if not limit.isdigit() or not 1 <= int(limit) <= 100:
            raise Refused(422, "limit must be between 1 and 100")
        return self.server.shop.invoices(
            status=query.get("status", ""), customer=query.get("customer", ""), limit=int(limit)
        )

    def _send(self, status: int, value: Any, media_type: str) -> None:
        data = b"" if status == 204 else json.dumps(value).encode()
        self.send_response(status)
        if data:
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
