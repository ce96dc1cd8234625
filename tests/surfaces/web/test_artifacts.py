"""Large results on the page of an execution: a preview, the artifacts, what can be done with them, and no way out."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.hostile_api import MARKUP

ROWS = "Array.from({length: 6000}, (_, i) => ({id: i, name: `customer ${i}`}))"


def picture(side: int = 120) -> bytes:
    """A PNG of noise, so that it is large enough to be kept."""
    rows = b"".join(b"\0" + bytes((x * y * 7 + x * x) % 251 for x in range(side * 3)) for y in range(side))
    parts = ((b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)))
    chunks = [struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
              for kind, data in (*parts, (b"IEND", b""))]  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def with_file(data: bytes, media_type: str) -> str:
    return f'return {{contentType: "{media_type}", base64: "{base64.b64encode(data).decode()}"}}'


@pytest.fixture(scope="module")
def large(daemon: Daemon) -> Any:
    return daemon.execute(f"return {ROWS}")


def test_a_large_result_is_a_preview_with_a_way_to_the_whole(visit: Open, large: Any, tmp_path: Path) -> None:
    page = visit(f"/executions/{large['executionId']}", accept_downloads=True)
    result = page.get_by_role("region", name="Result")
    expect(result).to_contain_text("of 6,000 items")
    expect(result).to_contain_text("customer 0")
    result.get_by_role("link", name="Open the artifact").click()
    expect(page).to_have_url(f"{page.url.split('?')[0]}?tab=artifacts")
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("result.json")
    expect(panel.get_by_role("list", name="Not in the preview")).to_contain_text("of 6,000 items shown")
    expect(panel.get_by_role("button", name=f"Copy {large['artifact']['id']}")).to_be_visible()
    expect(panel).to_contain_text(f"executor artifacts get {large['artifact']['id']} -o result.json")
    with page.expect_download() as saving:
        panel.get_by_role("button", name="Download").click()
    saving.value.save_as(tmp_path / "result.json")
    assert saving.value.suggested_filename == "result.json"
    assert json.loads((tmp_path / "result.json").read_bytes()) == large["result"]
    panel.get_by_role("button", name="Show all").click()
    expect(panel.get_by_role("button", name="5950 more")).to_be_visible()


def test_a_picture_is_drawn_and_one_that_could_carry_a_script_is_not(visit: Open, daemon: Daemon) -> None:
    view = daemon.execute(with_file(picture(), "image/png"))
    page = visit(f"/executions/{view['executionId']}?tab=artifacts")
    page.get_by_text("result.png").first.click()
    drawn = page.get_by_role("img", name="result.png")
    expect(drawn).to_be_visible()
    assert drawn.evaluate("(one) => one.naturalWidth") == 120
    code = b'<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=1">' + b"<g/>" * 1_500 + b"</svg>"
    view = daemon.execute(with_file(code, "image/svg+xml"))
    page.goto(f"/executions/{view['executionId']}?tab=artifacts")
    page.get_by_text("result.svg").first.click()
    expect(page.get_by_role("tabpanel")).to_contain_text("can't be shown here")
    assert page.evaluate("window.hacked") is None and page.locator("img").count() == 0


def test_50_content_of_strangers_never_runs_here(visit: Open, daemon: Daemon) -> None:
    """Stored XSS through artifacts: in a preview, in the whole, and when its address is opened by hand."""
    view = daemon.execute(f"return [{json.dumps(MARKUP)}, 'x'.repeat(40000)]")
    page = visit(f"/executions/{view['executionId']}?tab=artifacts")
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("<img src=x onerror=")
    panel.get_by_role("button", name="Show all").click()
    expect(panel.get_by_role("button", name="Show all")).to_have_count(0)
    expect(panel).to_contain_text("<img src=x onerror=")
    assert page.evaluate("window.hacked") is None and page.locator("img").count() == 0
    hostile = b"<!doctype html><script>document.title = 'hacked'; window.hacked = 1</script>" + b"<p></p>" * 900
    view = daemon.execute(with_file(hostile, "text/html"))
    kept = daemon.get(f"/v1/artifacts?execution={view['executionId']}").json["items"]
    file = next(one for one in kept if one["mediaType"] == "text/html")
    with page.expect_download() as saving:
        page.evaluate("(address) => { location.href = address }", f"/v1/artifacts/{file['id']}/content")
    assert saving.value.suggested_filename == "result.html"
    assert page.evaluate("window.hacked") is None and page.title() != "hacked"


def test_deleting_needs_a_second_press_and_is_shown_everywhere(visit: Open, daemon: Daemon) -> None:
    view = daemon.execute("return 'one line\\n'.repeat(9000)")
    page = visit(f"/executions/{view['executionId']}?tab=artifacts", viewport={"width": 380, "height": 800})
    panel = page.get_by_role("tabpanel")
    expect(panel.get_by_role("region", name="Text")).to_contain_text("one line\none line")
    panel.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("tab", name="Artifacts (1)")).to_be_visible()
    panel.get_by_role("button", name="Delete for good").click()
    expect(panel).to_contain_text("No artifacts")
    expect(page.get_by_role("region", name="Result")).to_contain_text("has been deleted")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
