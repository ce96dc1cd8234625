"""A call that lacks its credential gets it in the browser, and the run goes on. Nothing shows the value again."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open

KEY = "canary-5d20b7-key"
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Locked", "version": "1"},
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    "security": [{"key": []}],
    "paths": {"/secret": {"get": {"operationId": "look", "responses": {"200": {"description": "it"}}}}},
}


class Locked(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/openapi.json":
            self._answer(200, {**DOCUMENT, "servers": [{"url": f"http://{self.headers['Host']}"}]})
        elif self.headers.get("X-Key") == KEY:
            self._answer(200, {"open": True})
        else:
            self._answer(401, {"error": "no key"})

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def locked_address(daemon: Daemon) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Locked)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    added = daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "locked"})
    assert added.status == 201, added.body
    yield address
    server.shutdown()
    server.server_close()
    thread.join(120)


def test_a_missing_credential_is_given_on_its_page_and_the_execution_goes_on(
    visit: Open, daemon: Daemon, locked_address: str
) -> None:
    path = daemon.get("/v1/tools?source=locked").json["items"][0]["path"]
    view = daemon.execute(f"return await tools.{path}({{}})")
    assert view["status"] == "paused", view
    [approval] = view["interactions"]
    assert approval["kind"] == "credential"
    page = visit(approval["url"])
    expect(page.get_by_text("and nowhere else")).to_contain_text(locked_address)
    entry = page.get_by_label("Header X-Key")
    assert entry.get_attribute("type") == "password"
    assert entry.get_attribute("autocomplete") == "new-password"
    entry.fill("a wrong key")
    page.get_by_role("button", name="Save and continue").click()
    expect(page.get_by_text("The service refused this credential")).to_be_visible()
    page.get_by_role("link", name="Enter it again").click()
    page.get_by_label("Header X-Key").fill(KEY)
    page.get_by_role("button", name="Save and continue").click()
    expect(page.get_by_text("Credential saved. The execution is resuming")).to_be_visible()
    ended = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert (ended["status"], ended["result"]) == ("completed", {"open": True})
    page.goto("/sources/locked/edit")
    expect(page.get_by_text("ready")).to_be_visible()
    assert KEY not in page.content()
    assert KEY not in json.dumps(page.evaluate("[{...localStorage}, {...sessionStorage}, location.href]"))
