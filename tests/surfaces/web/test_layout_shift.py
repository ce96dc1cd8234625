"""Nothing moves away under the pointer: what a page shows later has its place from the start."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.surfaces.web.conftest import Open
from tests.surfaces.web.views import wait_until_settled

PAGES = (
    "/",
    "/approvals",
    "/approvals/{question}",
    "/executions",
    "/executions/{execution}",
    "/executions/{execution}?tab=events",
    "/sources/shop?tool=shop.things.createThing",
    "/sources/shop?tool=shop.things.createThing&tab=try",
    "/sources/shop/edit",
    "/sources/add",
    "/policies",
    "/toolkits",
    "/secrets",
    "/audit",
    "/playground",
    "/settings",
    "/settings?tab=people",
    "/settings?tab=keys",
    "/settings?tab=sessions",
    "/settings?tab=webhooks",
    "/settings?tab=appearance",
    "/settings?tab=about",
)
MOST = 0.05  # of the viewport's height, as browsers reckon it; 0.1 is held to be good
MOVED = """
() => new Promise((done) => {
  let moved = 0;
  const culprits = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      moved += entry.value;
      for (const source of entry.sources) culprits.push(source.node?.className ?? source.node?.nodeName);
    }
  }).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done([moved, culprits.slice(0, 4)]))));
})
"""


@pytest.mark.parametrize("width", [1440, 380])
def test_no_page_moves_what_it_has_shown(visit: Open, paused: Any, width: int) -> None:
    names = {"question": paused["interactions"][0]["id"], "execution": paused["executionId"]}
    page = visit("/", viewport={"width": width, "height": 860})
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    unsteady = {}
    for path in PAGES:
        page.goto(path.format(**names))
        wait_until_settled(page)
        moved, culprits = page.evaluate(MOVED)
        if moved > MOST:
            unsteady[path] = (moved, culprits)
    assert unsteady == {}
