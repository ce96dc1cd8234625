"""Executor as the MCP client under test: each scenario's server becomes a source of one daemon, which calls its tools.

People are played: they log in, step by step as a browser would, and accept what a server asks with its defaults.
"""

from __future__ import annotations

import json
import re
import socketserver
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from tests.support.login_harness import visit
from tests.surfaces.api.daemon_server import Answer, Daemon

ARGUMENTS: dict[str, dict[str, Any]] = {"add_numbers": {"a": 5, "b": 3}, "valid_tool": {"region": "north"}}
MOST_LOGINS = 3  # then a person gives up
AT_ONCE = 3
_numbers = count()


class Handler(socketserver.StreamRequestHandler):
    """A line with the scenario, and what was done as the answer. Few at a time: the suite starts all at once."""

    server: Server

    def handle(self) -> None:
        given = json.loads(self.rfile.readline())
        with self.server.places:
            try:
                for line in play(self.server.daemon, given["url"], given["context"]):
                    self.wfile.write(line.encode() + b"\n")
            except Exception:  # noqa: BLE001 - the suite keeps what the client printed, and judges by what was sent
                self.wfile.write(traceback.format_exc().encode())


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 100

    def __init__(self, daemon: Daemon) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.daemon = daemon
        self.places = threading.Semaphore(AT_ONCE)


@contextmanager
def listening(daemon: Daemon) -> Iterator[str]:
    """The port to which `client_command.py` sends each scenario."""
    with Server(daemon) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield str(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


def play(daemon: Daemon, url: str, context: dict[str, Any]) -> Iterator[str]:
    """As a source that is removed in the end: the suite waits until nothing is connected to its servers."""
    namespace = f"scenario{next(_numbers)}"
    try:
        yield from play_source(daemon, namespace, url, context)
    finally:
        daemon.request("DELETE", f"/v1/sources/{namespace}")


def play_source(daemon: Daemon, namespace: str, url: str, context: dict[str, Any]) -> Iterator[str]:
    """Connect the server, log in where it wants that, and call every tool once."""
    added = daemon.post("/v1/sources", {"location": url, "namespace": namespace, "kind": "mcp"})
    assert added.status == 201, added.body
    daemon.post("/v1/policies", {"pattern": f"{namespace}.*", "action": "allow"})
    yield f"{added.json['status']}: {added.json['toolCount']} tools, {added.json.get('error')}"
    for _ in range(MOST_LOGINS):
        source = daemon.get(f"/v1/sources/{namespace}").json
        if source["toolCount"]:
            break
        yield from log_in(daemon, namespace, context, "")
        refreshed = daemon.post(f"/v1/sources/{namespace}/refresh")
        yield f"refresh {refreshed.status}: {refreshed.body.decode()[:300]}"
    for path, arguments in calls(daemon, namespace, context):
        yield from call(daemon, namespace, context, f"return await tools.{path}({json.dumps(arguments)})")


def calls(daemon: Daemon, namespace: str, context: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    paths = [tool["path"] for tool in daemon.get(f"/v1/tools?source={namespace}").json["items"]]
    if "toolCalls" in context:
        for one in context["toolCalls"]:  # null is no boolean, and would be refused before anything is sent
            given = {name: value for name, value in one["arguments"].items() if value is not None}
            yield f"{namespace}.{one['name']}", given
    else:
        shown: Any = {}
        for path in sorted(paths, key=lambda path: path.endswith("_echo")):
            name = path.partition(".")[2]
            yield path, {"schema": shown} if name.endswith("_echo") else ARGUMENTS.get(name, {})
            shown = daemon.get(f"/v1/tools/{path}?includeSchemas=true").json["inputSchema"]


def call(daemon: Daemon, namespace: str, context: dict[str, Any], code: str) -> Iterator[str]:
    view = daemon.execute(code, typecheck="off")
    for _ in range(MOST_LOGINS):
        if view["status"] != "paused":
            break
        for asked in view["interactions"]:
            if asked["kind"] == "elicitation":
                accept(daemon, asked["id"])
            else:
                yield f"asked for {asked['kind']}: {asked['reason']}"
                yield from log_in(daemon, namespace, context, asked["id"])
        view = daemon.post(f"/v1/executions/{view['executionId']}/resume", {"wait": 30}, role="agent").json
    yield f"{code}: {view['status']} {view.get('result')} {view.get('error')}"


def accept(daemon: Daemon, interaction_id: str) -> None:
    """With nothing but the defaults, as a person who only presses the button."""
    shown = daemon.get(f"/v1/interactions/{interaction_id}").json["elicitation"]
    content = {field["name"]: field["default"] for field in shown["fields"] if field.get("default") is not None}
    done = daemon.post(f"/v1/interactions/{interaction_id}/answer", {"action": "accept", "content": content})
    assert done.status == 200, done.body


def log_in(daemon: Daemon, namespace: str, context: dict[str, Any], interaction_id: str) -> Iterator[str]:
    body = {"source": namespace, "interactionId": interaction_id}
    if "client_id" in context:
        secret = context.get("client_secret") or context.get("private_key_pem", "")
        body |= {"clientId": context["client_id"], "clientSecret": secret}
    if str(context.get("name")).startswith("auth/client-credentials-"):  # where no person is involved
        done = start(daemon, "credentials", body)
        yield f"client credentials {done.status}"
        return
    started = start(daemon, "start", body)
    yield f"login {started.status}: {started.body.decode()[:500]}"
    assert started.status == 200, started.body
    gone = daemon.get(f"{urlsplit(started.json['authorizationUrl']).path}/go", role=None)
    back = visit(gone.headers["location"]).headers["Location"]
    cookie = gone.headers["set-cookie"].partition(";")[0]
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "cross-site"}
    page = daemon.get(back.removeprefix(daemon.url), role=None, headers=headers)
    text = " ".join(re.sub(r"<[^>]+>", " ", page.body.decode()).split())
    yield f"logged in {page.status}: {text[-300:]}"
    assert page.status == 200, text


def start(daemon: Daemon, way: str, body: dict[str, Any]) -> Answer:
    """An operator allows the authorization server on its private address, as the refusal says."""
    started = daemon.post(f"/v1/connections/oauth/{way}", body)
    said = f"{started.json.get('hint', '')} {started.json.get('detail', '')}"
    if started.status >= 400 and (named := re.search(r"https?://[^\s\"`,;]+", said)):
        return daemon.post(f"/v1/connections/oauth/{way}", {**body, "allowServer": named[0]})
    return started
