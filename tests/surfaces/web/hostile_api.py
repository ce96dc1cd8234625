"""An API that attacks its readers, and a workspace full of such text: markup, scripts, invisible characters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.sample_workspace import expect_created, invite, serve, start_session

MARKUP = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
TURNED = "safe\u202egnp.exe"
HIDDEN = "pay\u200b1\u2066\u00ad00\u2800\ufe0f\U000e0101"
LINK = "javascript:window.hacked=1"
FAILS = (
    f"console.log({MARKUP!r}, {LINK!r}); console.error({TURNED!r});\n"
    f"const a = await tools.evil.hostile.echo({{q: {MARKUP!r}}});\nthrow new Error({MARKUP!r} + a.text)"
)
ANSWERS = (
    f"const a = await tools.evil.hostile.echo({{q: {TURNED!r}}});\nreturn {{...a, {json.dumps(MARKUP)}: {LINK!r}}}"
)
WRITES = (
    f"return await tools.evil.hostile.write({{{json.dumps(MARKUP)}: {HIDDEN!r}, choice: {MARKUP!r}, "
    f"note: {MARKUP!r}.repeat(3000)}})"
)
HUGE = "const line = 'W'.repeat(20_000); for (let i = 0; i < 40; i++) console.log(line); return {text: line.repeat(10)}"
# What an agent says and does that was talked into attacking the people who watch it.
STEPS: list[dict[str, Any]] = [
    {"think": f"{MARKUP} {TURNED}"},
    {"plan": [MARKUP, HIDDEN]},
    {"say": f"{MARKUP} {TURNED} [link]({LINK}) ![picture](https://example.com/x.png)\n\n```html\n{MARKUP}\n```"},
    {"diff": {"path": MARKUP, "old": HIDDEN, "new": f"{MARKUP}\n{TURNED}"}},
    {"bash": f"echo '{MARKUP}' {HIDDEN}"},
]


def operation(name: str, text: str = MARKUP, **more: Any) -> dict[str, Any]:
    answer = {"200": {"description": text}}
    docs = {"url": LINK, "description": text}
    return {
        "operationId": name,
        "summary": text,
        "description": f"{text} {LINK}",
        "externalDocs": docs,
        "tags": ["hostile"],
        "responses": answer,
        **more,
    }


def document(host: str) -> dict[str, Any]:
    words = {"type": "string", "title": MARKUP, "description": MARKUP}
    parameter = {"name": "q", "in": "query", "description": MARKUP, "schema": words}
    shape = {
        "type": "object",
        "title": MARKUP,
        "description": f"{MARKUP} {HIDDEN}",
        "properties": {
            MARKUP: {"type": "string", "description": TURNED, "default": MARKUP, "examples": [LINK]},
            "choice": {"enum": [MARKUP, TURNED, LINK], "description": MARKUP},
            "note": {"type": "string", "format": MARKUP, "pattern": "^.*$"},
        },
    }
    body = {"required": True, "content": {"application/json": {"schema": shape}}}
    answer = {"200": {"description": MARKUP, "content": {"application/json": {"schema": shape}}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Evil {MARKUP} {TURNED}", "version": MARKUP, "description": MARKUP},
        "externalDocs": {"url": LINK, "description": MARKUP},
        "servers": [{"url": f"http://{host}", "description": MARKUP}],
        "tags": [{"name": "hostile", "description": MARKUP}],
        "paths": {
            "/echo": {"get": {**operation("echo"), "parameters": [parameter]}, "post": operation("create", TURNED)},
            "/write": {"post": {**operation("write", requestBody=body), "responses": answer}},
        },
    }


def locked_document(host: str) -> dict[str, Any]:
    scheme = {"type": "apiKey", "in": "header", "name": "X-Key", "description": MARKUP}
    return {
        **document(host),
        "components": {"securitySchemes": {"key": scheme}},
        "security": [{"key": []}],
        "paths": {"/shut": {"get": operation("look")}},
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
        known = {
            "/openapi.json": lambda: document(host),
            "/locked.json": lambda: locked_document(host),
            "/many.json": lambda: many(host, 10_000),
        }
        self._answer(known.get(self.path, lambda: {"text": MARKUP, TURNED: [MARKUP, TURNED, LINK]})())

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
    with serve(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield address


@contextmanager
def set_up(daemon: Daemon) -> Iterator[dict[str, str]]:
    """As `stage.set_up`, by strangers: every name that anybody can give is an attack."""
    with running() as address:
        for namespace, file in (("evil", "openapi"), ("shut", "locked")):
            body = {"location": f"{address}/{file}.json", "namespace": namespace, "name": MARKUP}
            expect_created(daemon, "/v1/sources", body)
        name_things(daemon)
        empty = expect_created(daemon, "/v1/workspaces", {"name": f"{MARKUP} too"})
        yield ran(daemon) | {
            "source": "evil",
            "tool": "evil.hostile.write",
            "form": "evil?tool=evil.hostile.write",
            "changed": "evil",
            "locked": "shut",
            "address": f"{address}/locked.json",
            "outcome": "Result",
            "empty": empty["id"],
            "invitation": invite(daemon),
            "session": start_session(daemon, f"{MARKUP} {HIDDEN}", STEPS),
        }


def name_things(daemon: Daemon) -> None:
    """What people call things."""
    whole = [{"path": "/note", "test": "equals", "value": MARKUP}]
    policy: dict[str, Any] = {
        "pattern": "evil.**",
        "action": "require_approval",
        "note": f"{MARKUP} {TURNED}",
        "conditions": whole,
    }
    policy["effect"] = "write"
    expect_created(daemon, "/v1/policies", policy)
    for path in ("/v1/keys", "/v1/agents"):
        expect_created(daemon, path, {"name": MARKUP})
    toolkit = {"slug": "billing", "name": MARKUP, "description": MARKUP, "patterns": ["evil.**"]}
    toolkit["policies"] = [{**policy, "action": "deny"}]
    expect_created(daemon, "/v1/toolkits", toolkit)
    expect_created(daemon, "/v1/toolkits/billing/keys", {"name": f"{MARKUP} of a toolkit"})
    webhook = {"name": MARKUP, "url": "https://webhooks.invalid/", "events": ["webhook.disabled"]}
    expect_created(daemon, "/v1/webhooks", webhook)
    body = {"token": invite(daemon), "name": MARKUP}
    assert identities.nobody(daemon).post("/v1/invitations/accept", body).status == 200
    place = daemon.get("/v1/workspaces").json["items"][0]
    assert daemon.request("PATCH", f"/v1/workspaces/{place['id']}", {"name": MARKUP}).status == 200


def ran(daemon: Daemon) -> dict[str, str]:
    failed, done = daemon.execute(FAILS), daemon.execute(ANSWERS)
    denied, paused = daemon.execute(WRITES), daemon.execute(WRITES)
    lacking = daemon.execute("return await tools.shut.hostile.look({})")
    huge, kept = daemon.execute(HUGE), daemon.execute(f"return Array(3000).fill({MARKUP!r})")
    assert (failed["status"], done["status"]) == ("failed", "completed")
    approval = denied["interactions"][0]["id"]
    assert daemon.post(f"/v1/interactions/{approval}/deny", {"reason": f"{MARKUP} {TURNED}"}).status == 200
    return {
        "done": done["executionId"],
        "failed": failed["executionId"],
        "kept": kept["executionId"],
        "huge": huge["executionId"],
        "paused": paused["executionId"],
        "denied": approval,
        "question": paused["interactions"][0]["id"],
        "credential": lacking["interactions"][0]["id"],
    }
