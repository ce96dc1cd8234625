"""Pictures of the pages for the documents: `EXECUTOR_SCREENSHOTS=1` writes them, else they are only made."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from executor.demo.server import DemoServer
from tests.api.serving import Daemon, running_daemon
from tests.web.conftest import Open

TARGET = Path(__file__).parents[2] / "docs" / "screenshots"
LARGEST = 150_000
READ = """\
console.log("looking at what was paid");
const [paid, all] = await Promise.all([
  tools.demo.invoices.listInvoices({ status: "paid" }),
  tools.demo.invoices.listInvoices({}),
]);
return { paid: paid.length, all: all.length };"""
WRITE = """\
const [invoice] = await tools.demo.invoices.listInvoices({ status: "paid", limit: 1 });
return await tools.demo.refunds.createRefund({ id: invoice.id, amount: 5, reason: "Late delivery" });"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("pictures")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def names(daemon: Daemon) -> Iterator[dict[str, str]]:
    """The demo, with something done and something to decide."""
    server = DemoServer(0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    daemon.post("/v1/sources", {"location": f"{server.url}/openapi.json", "namespace": "demo"})
    daemon.post(
        "/v1/policies", {"pattern": "demo.**", "action": "require_approval", "effect": "write", "note": "Money"}
    )
    done, paused = daemon.execute(READ), daemon.execute(WRITE)
    yield {"done": done["executionId"], "question": paused["interactions"][0]["id"]}
    server.shutdown()
    server.server_close()
    thread.join(10)


PAGES = {
    "sources": ("/", {}),
    "approval": ("/approvals/{question}", {}),
    "approval-phone": ("/approvals/{question}", {"viewport": {"width": 380, "height": 780}}),
    "executions": ("/executions", {}),
    "audit": ("/audit", {}),
    "execution-dark": ("/executions/{done}", {"color_scheme": "dark"}),
    "source": ("/sources/demo?tool=demo.refunds.createRefund", {}),
    "policies": ("/policies", {}),
    "playground-dark": ("/playground?from={done}", {"color_scheme": "dark"}),
    "settings": ("/settings?tab=keys", {}),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_picture_is_made(visit: Open, names: dict[str, str], tmp_path: Path, name: str) -> None:
    path, options = PAGES[name]
    page: Any = visit(path.format(**names), **options)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Loading", exact=True)).to_have_count(0)
    if name.startswith("playground"):
        expect(page.get_by_role("textbox", name="Code")).to_contain_text("looking")
    folder = TARGET if os.environ.get("EXECUTOR_SCREENSHOTS") else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
    assert (folder / f"{name}.png").stat().st_size < LARGEST
