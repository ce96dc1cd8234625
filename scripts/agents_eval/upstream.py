"""The upstream on loopback: all services on one port, each below its name, with a state that a task can change."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from agents_eval.everything import Everything
from agents_eval.github import GitHub
from agents_eval.google_calendar import GoogleCalendar
from agents_eval.jira import Jira
from agents_eval.service import Reply, Request, Service
from agents_eval.shop import Shop
from agents_eval.slack import Slack
from agents_eval.stripe import Stripe
from agents_eval.twilio import Twilio


@dataclass
class World:
    """What there is upstream. Every task begins with a new one."""

    github: GitHub = field(default_factory=GitHub)
    stripe: Stripe = field(default_factory=Stripe)
    slack: Slack = field(default_factory=Slack)
    jira: Jira = field(default_factory=Jira)
    calendar: GoogleCalendar = field(default_factory=GoogleCalendar)
    twilio: Twilio = field(default_factory=Twilio)
    shop: Shop = field(default_factory=Shop)
    everything: Everything = field(default_factory=Everything)


SERVICES: tuple[type[Service], ...] = (GitHub, Stripe, Slack, Jira, GoogleCalendar, Twilio, Shop, Everything)


class Upstream(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, documents: Mapping[str, Path]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.documents = documents
        self.world = World()
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def location(self, service: type[Service]) -> str:
        """What a person would give `executor sources add`."""
        own = {"shop": "graphql", "everything": "mcp"}.get(service.name)
        return f"{self.address}/{service.name}/{own or 'openapi.json'}"

    def document(self, name: str) -> Any:
        """As published, but for the addresses: nothing else than this server may be called."""
        found = json.loads(self.documents[name].read_bytes())
        for item in found["paths"].values():
            for part in (item, *(one for one in item.values() if isinstance(one, dict))):
                part.pop("servers", None)
        return found | {"servers": [{"url": f"{self.address}/{name}"}]}

    def answer(self, method: str, target: str, kind: str, content: bytes) -> Reply:
        parts = urlsplit(target)
        name, _, path = parts.path.lstrip("/").partition("/")
        if path == "openapi.json" and name in self.documents:
            return Reply(self.document(name))
        service = getattr(self.world, name, None)
        if service is None:
            return Reply({"message": "Not Found"}, 404)
        query, body = dict(parse_qsl(parts.query)), body_of(kind, content)
        request = Request(method, f"/{unquote(path)}", query, body, f"{self.address}/{name}")
        with self.lock:
            answer: Reply = service.answer(request)
        return answer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error; any other one is, and is printed."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def body_of(kind: str, content: bytes) -> Any:
    if kind.startswith("application/x-www-form-urlencoded"):
        return dict(parse_qsl(content.decode()))
    return json.loads(content) if content else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Upstream

    def handle_any(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        reply = self.server.answer(self.command, self.path, self.headers.get("content-type") or "", content)
        data = b"" if reply.body is None else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if data:
            self.send_header("Content-Type", "application/json")
        if reply.status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 - the standard library's names

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@contextmanager
def running_upstream(documents: Mapping[str, Path]) -> Iterator[Upstream]:
    with Upstream(documents) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
