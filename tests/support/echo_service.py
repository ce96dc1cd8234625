"""A service that takes credentials in every place, and then misbehaves with them in every way it can."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from tests.support.protected_service import SCHEMES, Handler, ProtectedService, echoes, secrets_in

PLACES = {
    "header": "header_key",
    "query": "query_key",
    "cookie": "cookie_key",
    "basic": "login",
    "bearer": "token",
}
MODES = ("echo", "refused", "broken", "moved", "closed", "nonsense", "huge", "stalled", "path")


def paths() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for mode in MODES:
        for place, scheme in PLACES.items():
            common = {"tags": ["use"], "security": [{scheme: []}], "responses": {"200": {}}}
            body = {"content": {"application/json": {"schema": {"type": "object"}}}}
            found[f"/{mode}/{place}"] = {
                "get": {**common, "operationId": f"{mode}_{place}"},
                "post": {**common, "operationId": f"{mode}_{place}_write", "requestBody": body},
            }
    return found


class Quiet(ProtectedService):
    """Whoever hangs up on it is none of its business."""

    def handle_error(self, *args: Any) -> None: ...


class EchoHandler(Handler):
    """Each first part of a path is one way to answer; `held` lets go of those that wait."""

    held: threading.Event

    def do_GET(self) -> None:  # noqa: N802 - the name is the standard library's
        parts = urlsplit(self.path)
        if parts.path == "/openapi.json":
            return super().do_GET()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = {name: found[0] for name, found in parse_qs(parts.query).items()}
        self.server.seen.append({"path": parts.path, "query": query, "headers": headers, "method": self.command})
        mode, values = parts.path.split("/")[1], secrets_in(headers, query)
        getattr(self, f"_{mode}")(values, {"headers": headers, "url": self.path, "echoes": echoes(values)})
        return None

    do_POST = do_GET  # noqa: N815

    def _echo(self, values: list[str], told: Any) -> None:
        self.answer(200, told)

    def _refused(self, values: list[str], told: Any) -> None:
        self.answer(401, {"message": f"wrong: {' '.join(values)}", **told})

    def _broken(self, values: list[str], told: Any) -> None:
        self.answer(500, {"message": f"cannot use {' '.join(values)}", **told})

    def _moved(self, values: list[str], told: Any) -> None:
        self.redirect(f"http://elsewhere.invalid/?stolen={quote(values[0], safe='')}")

    def _closed(self, values: list[str], told: Any) -> None:
        self.close_connection = True

    def _nonsense(self, values: list[str], told: Any) -> None:
        self.plain(200, f'{{"got": {values!r}, '.encode())

    def _huge(self, values: list[str], told: Any) -> None:
        self.answer(200, {"text": " ".join(values) * (100_000 // len(values[0])), **told})

    def _stalled(self, values: list[str], told: Any) -> None:
        self.held.wait(60)
        self.close_connection = True

    def _path(self, values: list[str], told: Any) -> None:
        self.plain(404, f"no {self.path} for {json.dumps(values)}".encode(), "text/html")

    def plain(self, status: int, data: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def leaking() -> Iterator[ProtectedService]:
    server = Quiet()
    held = threading.Event()
    server.RequestHandlerClass = type("Here", (EchoHandler,), {"held": held})
    server.extra = {"paths": paths(), "components": {"securitySchemes": SCHEMES}}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        held.set()
        server.shutdown()
        server.server_close()
        thread.join()
