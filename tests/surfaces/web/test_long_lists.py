"""Ten thousand tools are scrolled without a blank row, however one scrolls, and few of them are in the document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.conditions import wait_for
from tests.surfaces.web.conftest import Open, chromium

WATCH = (Path(__file__).parents[3] / "scripts" / "benchmarks" / "frames.js").read_text(encoding="utf-8")
STEPS = 60
NODES = 1_500


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One that draws scrollbars, as people have them."""
    with chromium(ignore_default_args=["--hide-scrollbars"]) as started:
        yield started


@pytest.fixture
def list_of_many(visit: Open, many: str) -> Any:
    """The page once every tool has arrived: the last one can be scrolled to."""
    page = visit(f"/sources/{many}")
    tools = page.locator('[aria-label="Tools"]')
    expect(tools).to_contain_text("getItem")
    wait_for(lambda: page.evaluate("document.querySelector('[aria-label=Tools]').scrollHeight") > 300_000)
    return page


def watch_frames(page: Any) -> None:
    page.evaluate(f"({WATCH})('Tools')")


def so_far(page: Any) -> Any:
    return page.evaluate("window.watchedSoFar()")


def read_frames(page: Any) -> Any:
    page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
    return page.evaluate("window.watchedFrames()")


def box(page: Any) -> Any:
    return page.locator('[aria-label="Tools"]').locator("xpath=..").bounding_box()


def test_the_wheel_never_outruns_the_rows(list_of_many: Any) -> None:
    page = list_of_many
    place = box(page)
    page.mouse.move(place["x"] + 40, place["y"] + place["height"] / 2)
    watch_frames(page)
    for step in range(STEPS):
        page.mouse.wheel(0, 240 if step < STEPS * 2 // 3 else -240)
    wait_for(lambda: so_far(page)["steps"] >= STEPS // 3)
    found = read_frames(page)
    assert found["frames"] > 5
    assert (found["blank"], found["behind"]) == (0, 0), found
    assert found["rows"] < 100 and found["nodes"] < NODES, found


def test_a_jump_by_scrollbar_or_key_arrives_on_rows(list_of_many: Any) -> None:
    page = list_of_many
    place = box(page)
    watch_frames(page)
    edge = place["x"] + place["width"] - 6
    page.mouse.move(edge, place["y"] + 18)
    page.mouse.down()
    for step in range(1, 21):
        page.mouse.move(edge, place["y"] + 18 + place["height"] / 2 * step / 20)
    page.mouse.up()
    wait_for(lambda: so_far(page)["at"] > 100_000)
    page.locator('[aria-label="Tools"]').get_by_role("button").first.focus()
    page.keyboard.press("End")
    expect(page.get_by_text("getItem9999", exact=True)).to_be_visible()
    page.keyboard.press("Home")
    found = read_frames(page)
    assert found["blank"] == 0, found
    assert found["nodes"] < NODES, found
