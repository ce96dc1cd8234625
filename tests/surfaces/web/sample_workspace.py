"""A workspace as it looks after a week: sources, runs, approvals, policies, people. The pictures show it."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from executor.demo.server import DemoServer
from tests.support.conditions import wait_for
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon

LANES = """\
// What can be shipped today?
console.log("looking at three shelves");
const skus = ["lamp", "chair", "table"];
const [stock, paid] = await Promise.all([
  Promise.all(skus.map((sku) => tools.warehouse.stock.getStock({ sku }))),
  tools.demo.invoices.listInvoices({ status: "paid" }),
]);
console.log(`${paid.length} invoices are paid`);
const carrier = await tools.warehouse.stock.getStock({ sku: "parcel" });
return { stock, paid: paid.length, parcels: carrier.left };"""
WRITE = """\
const [invoice] = await tools.demo.invoices.listInvoices({ status: "paid", limit: 1 });
return await tools.demo.refunds.createRefund({ id: invoice.id, amount: 5, reason: "Late delivery" });"""
FAILS = """\
const invoice = await tools.demo.invoices.getInvoice({ id: "inv_9999" });
return invoice.amount;"""
LARGE = """\
const days = Array.from({ length: 3000 }, (_, day) => `${day},${(day * 37) % 101},${(day * 53) % 211}`);
return ["day,sold,left", ...days].join("\\n");"""
DELAYS = {"lamp": 0.12, "chair": 0.3, "table": 0.2, "parcel": 0.1}
TEXT: dict[str, Any] = {"type": "string"}
STEPS: list[dict[str, Any]] = [
    {"think": "The rounding happens twice."},
    {"plan": ["Find the rounding", "Round once"]},
    {"say": "The total is rounded **twice**: once for each line, and once at the end."},
    {"diff": {"path": "shop/total.py", "old": "total = round(total)\n", "new": "return round(total, 2)\n"}},
    {"bash": "pytest -q tests/test_total.py"},
]


def operation(name: str, tag: str, about: str, *, body: Any = None, **more: Any) -> dict[str, Any]:
    thing = {"type": "object", "properties": {"sku": TEXT, "left": {"type": "integer", "description": "How many."}}}
    answers = {"200": {"description": "it", "content": {"application/json": {"schema": thing}}}}
    asked = {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}} if body else {}
    return {"operationId": name, "tags": [tag], "summary": about, "responses": answers, **asked, **more}


def warehouse(host: str, *, changed: bool) -> dict[str, Any]:
    """Later it has a tool more, one less, and one that takes something else."""
    sku = {"name": "sku", "in": "query", "required": True, "description": "What it is called.", "schema": TEXT}
    moved = {
        "type": "object",
        "required": ["sku", "to"],
        "properties": {
            "sku": {**TEXT, "description": "What is moved."},
            "to": {"enum": ["front", "back", "cellar"], "description": "Where it goes."},
            "amount": {"type": "integer", "minimum": 1, "default": 1},
            **({"carefully": {"type": "boolean", "description": "Nothing of it may break."}} if changed else {}),
            "fragile": {"type": "boolean"},
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Warehouse", "version": "2.1"},
        "servers": [{"url": f"http://{host}"}],
        "paths": {
            "/stock": {"get": operation("getStock", "stock", "How much of something is left", parameters=[sku])},
            "/moves": {"post": operation("moveStock", "stock", "Move something to another shelf", body=moved)},
            **(
                {"/orders": {"post": operation("orderStock", "stock", "Order more of something", body=moved)}}
                if changed
                else {"/shelves": {"get": operation("listShelves", "shelves", "List all shelves")}}
            ),
        },
    }


def desk(host: str) -> dict[str, Any]:
    note = {"type": "object", "required": ["text"], "properties": {"text": TEXT}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Support desk", "version": "1"},
        "servers": [{"url": f"http://{host}"}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": {
            "/tickets": {"get": operation("listTickets", "tickets", "List open tickets")},
            "/notes": {"post": operation("addNote", "tickets", "Add a note to a ticket", body=note)},
        },
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        host = str(self.headers["Host"])
        if address.path in ("/warehouse.json", "/desk.json"):
            self._answer(200, self._warehouse(host) if address.path == "/warehouse.json" else desk(host))
        elif address.path == "/tickets":
            self._answer(401, {"error": "a token is needed"})
        else:
            sku = parse_qs(address.query).get("sku", [""])[0]
            time.sleep(DELAYS.get(sku, 0))
            self._answer(200, {"sku": sku, "left": len(sku)})

    def _warehouse(self, host: str) -> dict[str, Any]:
        return warehouse(host, changed=getattr(self.server, "changed", False))

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
def serve(server: ThreadingHTTPServer) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(120)


@contextmanager
def set_up(daemon: Daemon) -> Iterator[dict[str, str]]:
    """Names of what is there, by which the addresses of views are filled in."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with serve(DemoServer(0)) as demo, serve(server) as others:
        for namespace, address in (
            ("demo", f"{demo}/openapi.json"),
            ("warehouse", f"{others}/warehouse.json"),
            ("desk", f"{others}/desk.json"),
        ):
            expect_created(daemon, "/v1/sources", {"location": address, "namespace": namespace})
        add_policies_and_people(daemon)
        empty = expect_created(daemon, "/v1/workspaces", {"name": "Staging"})
        names = ran(daemon)
        server.changed = True  # type: ignore[attr-defined]
        assert daemon.post("/v1/sources/warehouse/refresh").status == 200
        yield names | {
            "source": "demo",
            "tool": "demo.refunds.createRefund",
            "form": "warehouse?tool=warehouse.stock.moveStock",
            "changed": "warehouse",
            "locked": "desk",
            "address": f"{others}/desk.json",
            "outcome": "Result",
            "empty": empty["id"],
            "invitation": invite(daemon),
        }


def expect_created(daemon: Daemon, path: str, body: Any) -> Any:
    answer = daemon.post(path, body)
    assert answer.status == 201, answer.body
    return answer.json


def add_policies_and_people(daemon: Daemon) -> None:
    """Policies, secrets, people, keys."""
    large = [{"path": "/amount", "test": "at_least", "value": 100}]
    for policy in (
        {"pattern": "demo.refunds.*", "action": "deny", "conditions": large, "note": "Large refunds are made by hand"},
        {"pattern": "demo.**", "action": "require_approval", "effect": "write", "note": "Money"},
        {"pattern": "warehouse.**", "action": "allow", "note": "Nothing there can be lost"},
    ):
        expect_created(daemon, "/v1/policies", policy)
    kit = {"slug": "billing", "name": "Billing desk", "patterns": ["demo.invoices.*"], "passThrough": ["demo.**"]}
    expect_created(daemon, "/v1/toolkits", {**kit, "policies": [{"pattern": "demo.*.deleteInvoice", "action": "deny"}]})
    expect_created(daemon, "/v1/toolkits/billing/keys", {"name": "desk-bot"})
    for name in ("desk_token", "stripe_key"):
        expect_created(daemon, "/v1/secrets", {"name": name, "value": f"value of {name}"})
    body = {"token": invite(daemon), "name": "Grace Hopper"}
    assert identities.nobody(daemon).post("/v1/invitations/accept", body).status == 200
    expect_created(daemon, "/v1/keys", {"name": "laptop"})
    expect_created(daemon, "/v1/agents", {"name": "claude-code"})


def invite(daemon: Daemon) -> str:
    return identities.fragment(expect_created(daemon, "/v1/invitations", {"role": "member"})["url"])


def ran(daemon: Daemon) -> dict[str, str]:
    failed = daemon.execute(FAILS)
    python = daemon.execute('print("hello")\nsum(range(10))', language="python")
    lacking = daemon.execute("return await tools.desk.tickets.listTickets({})")
    done, paused = daemon.execute(LANES), daemon.execute(WRITE)
    assert (failed["status"], done["status"], python["status"]) == ("failed", "completed", "completed")
    assert (paused["status"], lacking["status"]) == ("paused", "paused")
    return {
        "session": start_session(daemon, "Round the total once", STEPS),
        "done": done["executionId"],
        "failed": failed["executionId"],
        "python": python["executionId"],
        "kept": daemon.execute(LARGE)["executionId"],
        "paused": paused["executionId"],
        "question": paused["interactions"][0]["id"],
        "credential": lacking["interactions"][0]["id"],
    }


def start_session(daemon: Daemon, title: str, steps: list[dict[str, Any]]) -> str:
    """Of the agent without a model. It ends with a request that no one has answered."""
    body = {"agent": "fake", "cwd": tempfile.mkdtemp(), "isolation": "simple", "title": title}
    session = expect_created(daemon, "/v1/sessions", {**body, "prompt": json.dumps(steps)})["id"]
    wait_for(lambda: daemon.get(f"/v1/sessions/{session}").json["status"] == "waiting")
    return str(session)
