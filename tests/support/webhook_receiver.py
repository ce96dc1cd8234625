"""A receiver of webhooks on loopback, in threads, that keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, dict[str, str], bytes]
WELL: Reply = (204, {}, b"")


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Receiver:
    """`reply` answers each request. It may wait for `released`, which is set when the receiver is closed."""

    url: str
    reply: Callable[[Received], Reply] = lambda received: WELL
    received: list[Received] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def of_type(self, type: str) -> list[Received]:
        return [one for one in self.received if one.json.get("type") == type]


@contextmanager
def running_receiver(reply: Callable[[Received], Reply] | None = None, port: int = 0) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            one = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            receiver.received.append(one)
            status, headers, content = receiver.reply(one)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A sender that gave up is no news."""

    server = Server(("127.0.0.1", port), Handler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}")
    if reply is not None:
        receiver.reply = reply
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
