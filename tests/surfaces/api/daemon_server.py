"""A real daemon for tests: an Executor in a directory of its own, uvicorn on an ephemeral port, in a thread."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import uvicorn

from executor.daemon.server.http_server import configuration, drop
from executor.daemon.wiring.executor import Executor
from executor.identity.local_tokens import Tokens
from executor.settings import Settings
from executor.surfaces.api.app import Api
from executor.surfaces.app import App
from tests.support import postgres
from tests.support.conditions import wait_for
from tests.support.messages import HasBody


@dataclass
class Answer(HasBody):
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Daemon:
    executor: Executor
    tokens: Tokens
    app: Api
    port: int
    loop: asyncio.AbstractEventLoop
    front: App

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        role: str | None = "operator",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """`role` names one of our tokens, is the text of another one, or is None for no header at all."""
        sent = dict(headers or {})
        if role is not None:
            sent["Authorization"] = f"Bearer {getattr(self.tokens, role, role)}"
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=240)
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, path: str, **options: Any) -> Answer:
        return self.request("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.request("POST", path, body, **options)

    def execute(self, code: str, *, role: str = "agent", **body: Any) -> Any:
        answer = self.post("/v1/executions", {"code": code, **body}, role=role)
        assert answer.status == 201, answer.body
        return answer.json

    def run(self, work: Awaitable[Any]) -> Any:
        """Await something in the daemon's own loop."""

        async def await_it() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(await_it(), self.loop).result(240)


@contextmanager
def running_daemon(
    directory: Path, wrap: Callable[[App, Tokens], Any] = lambda app, tokens: app, **changes: Any
) -> Iterator[Daemon]:
    """`wrap` puts something in front of its surfaces."""
    if os.environ.get("TEST_DATABASE") == "postgresql":  # to try all of these tests on it, by hand
        server = postgres.server()
        changes.setdefault("database_url", server.url(server.create_migrated()))
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # without the protocol asyncio leaves Nagle on: 40 ms a request
    listener.bind(("127.0.0.1", 0))
    environment = {"EXECUTOR_DATA_DIR": str(directory), "EXECUTOR_CONFIG": str(directory / "config.toml")}
    (directory / "config.toml").touch()
    settings = replace(Settings.load(environment), port=listener.getsockname()[1], workers=1, **changes)
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    started: list[Any] = []
    thread = threading.Thread(target=_serve, args=(settings, listener, started, wrap), daemon=True)
    thread.start()
    wait_for(lambda: started)
    outcome = started[0]
    if isinstance(outcome, BaseException):
        raise outcome
    daemon, server = outcome
    try:
        wait_for(lambda: server.started)
        yield daemon
    finally:
        daemon.loop.call_soon_threadsafe(daemon.app.state.streams.close)
        server.should_exit = True
        thread.join(120)
        listener.close()


def _serve(settings: Settings, listener: socket.socket, started: list[Any], wrap: Callable[[App, Tokens], Any]) -> None:
    async def serve() -> None:
        try:
            executor = await Executor.open(settings)
        except BaseException as error:
            started.append(error)
            raise
        try:
            tokens = Tokens.load_or_create(settings.data_dir)
            front = App(settings, tokens)
            await front.load(executor)
            server = uvicorn.Server(configuration(wrap(front, tokens)))
            app = await front.load_api()
            started.append((Daemon(executor, tokens, app, settings.port, asyncio.get_running_loop(), front), server))
            await server.serve(sockets=[listener])
            await drop(server.server_state.connections)
            await front.close()
        finally:
            await executor.close()

    asyncio.run(serve())


DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/things": {
            "get": {"operationId": "listThings", "tags": ["things"], "responses": {"200": {"description": "all"}}},
            "post": {
                "operationId": "createThing",
                "tags": ["things"],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {"name": {"type": "string"}},
                                "required": ["name"],
                            }
                        }
                    },
                },
                "responses": {"201": {"description": "made"}},
            },
        }
    },
}


class Upstream(BaseHTTPRequestHandler):
    """A tiny API that remembers what was created."""

    protocol_version = "HTTP/1.1"
    made: list[Any]

    def do_GET(self) -> None:
        document = {**DOCUMENT, "servers": [{"url": f"http://{self.headers['Host']}"}]}
        self._answer(200, document if self.path == "/openapi.json" else self.made)

    def do_POST(self) -> None:
        thing = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.made.append(thing)
        self._answer(201, {"id": len(self.made), **thing})

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def running_upstream(host: str = "127.0.0.1") -> Iterator[tuple[str, list[Any]]]:
    made: list[Any] = []
    handler = type("Handler", (Upstream,), {"made": made})
    server = ThreadingHTTPServer((host, 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}", made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(120)
