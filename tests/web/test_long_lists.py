"""Ten thousand tools are scrolled without a blank row, however one scrolls, and few of them are in the document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Open

WATCH = (Path(__file__).parents[2] / "scripts" / "benchmarks" / "frames.js").read_text(encoding="utf-8")
STEPS = 60
NODES = 1_500


@pytest.fixture
def list_of_many(visit: Open, many: str) -> Any:
    """The page once every tool has arrived: the last one can be scrolled to."""
    page = visit(f"/sources/{many}")
    tools = page.get_by_label("Tools", exact=True)
    expect(tools).to_contain_text("getItem")
    page.wait_for_function("document.querySelector('[aria-label=Tools]').getBoundingClientRect().height > 300_000")
    return page


def watched(page: Any) -> None:
    page.evaluate(f"({WATCH})('Tools')")


def seen(page: Any) -> Any:
    page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
    return page.evaluate("window.watchedFrames()")


def box(page: Any) -> Any:
    return page.get_by_label("Tools", exact=True).locator("xpath=..").bounding_box()


def test_the_wheel_never_outruns_the_rows(list_of_many: Any) -> None:
    page = list_of_many
    place = box(page)
    page.mouse.move(place["x"] + 40, place["y"] + place["height"] / 2)
    watched(page)
    for step in range(STEPS):
        page.mouse.wheel(0, 240 if step < STEPS * 2 // 3 else -240)
    page.wait_for_function(f"window.watchedSoFar().steps >= {STEPS // 3}")
    found = seen(page)
    assert found["frames"] > 5
    assert (found["blank"], found["behind"]) == (0, 0), found
    assert found["rows"] < 100 and found["nodes"] < NODES, found


def test_a_jump_by_scrollbar_or_key_arrives_on_rows(list_of_many: Any) -> None:
    page = list_of_many
    place = box(page)
    watched(page)
    edge = place["x"] + place["width"] - 6
    page.mouse.move(edge, place["y"] + 12)
    page.mouse.down()
    for step in range(1, 21):
        page.mouse.move(edge, place["y"] + 12 + place["height"] / 2 * step / 20)
    page.mouse.up()
    page.wait_for_function("window.watchedSoFar().at > 100_000")
    page.get_by_label("Tools", exact=True).get_by_role("button").first.focus()
    page.keyboard.press("End")
    expect(page.get_by_text("getItem9999", exact=True)).to_be_visible()
    page.keyboard.press("Home")
    found = seen(page)
    assert found["blank"] == 0, found
    assert found["nodes"] < NODES, found
