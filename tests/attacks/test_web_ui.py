"""Attacks 49, 50 and 52: on the pages that humans decide in, by other sites, by tool output, by odd addresses."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open, also_asked, browser, hostile, visit  # noqa: F401 - fixtures
from tests.surfaces.web.files import get
from tests.surfaces.web.hostile_api import MARKUP
from tests.surfaces.web.views import routes

# Each is a way by which a text of others would come alive, had it got into a page; what became of it.
PLANT = {
    "markup": "document.body.innerHTML = '<img src=x onerror=\"window.hacked = 1\">'",
    "more markup": "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 1\">')",
    "a document": "new DOMParser().parseFromString('<img src=x>', 'text/html')",
    "an attribute": "document.body.setAttribute('onclick', 'window.hacked = 1')",
    "a script": "document.body.append(Object.assign(document.createElement('script'), {text: 'window.hacked = 1'}))",
    "code": "eval('window.hacked = 1')",
    "a timer": "setTimeout('window.hacked = 1')",
    "an address": "location.href = 'javascript:window.hacked=1'",
    "a style": "document.body.append(Object.assign(document.createElement('style'), {textContent: '*{color:red}'}))",
    "a script of elsewhere": "document.createElement('script').src = '//evil.example/'",
}
TRY = """() => new Promise((resolve) => {
    document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
    setTimeout(() => resolve("nothing refused it"), 3000);
    setTimeout(() => { PLANT });  // not at once: what a debugger runs may do more than a page
})"""


@pytest.fixture
def other_site(daemon: Daemon) -> Iterator[str]:
    """A page that puts the approvals page into a frame, under a button of its own."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f'<h1>Win a prize</h1><iframe src="{daemon.url}/approvals"></iframe>'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join(120)


def test_49_a_page_of_another_site_frames_the_approvals(browser: Any, daemon: Daemon, other_site: str) -> None:  # noqa: F811
    """`frame-ancestors 'none'` of surfaces/web/pages.policy, and X-Frame-Options of guard.SECURITY_HEADERS."""
    context = browser.new_context()
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(other_site)
    page.wait_for_load_state("networkidle")
    framed = page.frames[1]
    assert not framed.url.startswith(daemon.url)
    assert any("frame-ancestors" in text or "X-Frame-Options" in text for text in refused), refused
    context.close()


def test_49_every_page_forbids_framing_and_foreign_code(daemon: Daemon) -> None:
    """surfaces/web/pages.policy: without any one of these directives the attack has a way in."""
    for path in (route.replace(":", "") for route in routes()):
        answer = daemon.get(path, role=None)
        policy = answer.headers["content-security-policy"]
        for wanted in (
            *("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"),
            *("require-trusted-types-for 'script'", "trusted-types 'none'"),
        ):
            assert wanted in policy.split("; "), (path, wanted)
        assert "unsafe" not in policy and "http" not in policy and "*" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_50_markup_of_a_tool_runs_in_the_page_of_anyone_who_looks(visit: Open, daemon: Daemon, hostile: str) -> None:  # noqa: F811
    """React makes text of it everywhere; no page has `dangerouslySetInnerHTML` (tests/surfaces/web/test_types.py)."""
    view = daemon.execute("return await tools.evil.hostile.echo({})")
    page = visit(f"/executions/{view['executionId']}")
    page.get_by_role("region", name="Result").get_by_text(MARKUP).first.wait_for()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("way", PLANT)
def test_50_text_that_got_into_a_page_all_the_same(sign_in_page: Any, way: str) -> None:
    """surfaces/web/pages.policy: no markup is made of a text, no inline handler, script or style works."""
    sign_in_page.reload()
    refused = str(sign_in_page.evaluate(TRY.replace("PLANT", PLANT[way])))
    assert refused.startswith(("require-trusted-types-for", "script-src", "style-src")), refused
    assert sign_in_page.evaluate("window.hacked") is None


@pytest.fixture(scope="module")
def sign_in_page(browser: Any, daemon: Daemon) -> Iterator[Any]:  # noqa: F811
    context = browser.new_context(base_url=daemon.url)
    page = context.new_page()
    page.goto("/sign-in")
    yield page
    context.close()


@pytest.mark.parametrize(
    "path",
    [
        "/../pages.py",
        "/assets/../../pages.py",
        "/%2e%2e/pages.py",
        "/assets/..%2f..%2fpages.py",
        "/assets/%5c..%5c..%5cpages.py",
        "//etc/passwd",
        "/assets//etc/passwd",
        "/.inputs",
        "/index.html%00.js",
    ],
)
def test_52_an_address_that_leads_out_of_the_folder(daemon: Daemon, path: str) -> None:
    """surfaces/web/pages.py: `is_servable`, and Starlette refuses a path that leads out of the folder."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=120)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{daemon.port}")
    connection.endheaders()
    body = connection.getresponse().read()
    connection.close()
    assert b"class Pages" not in body and b"root:" not in body


@pytest.mark.parametrize("path", ["/../key.js", "/assets/../../key.js", "//../key.js", "/./../key.js"])
def test_52_an_address_that_leads_to_a_file_beside_the_folder(tmp_path: Path, path: str) -> None:
    """The same line, for a file of a kind that is served."""
    (tmp_path / "static" / "assets").mkdir(parents=True)
    (tmp_path / "static" / "index.html").write_text("page")
    (tmp_path / "key.js").write_text("KEY")
    assert b"KEY" not in get(tmp_path / "static", path).body


def test_52_a_link_in_the_folder_leads_out_of_it(tmp_path: Path) -> None:
    """Starlette's `lookup_path` looks where a link leads, at every request; `stat_file` in surfaces/web/pages.py does
    not follow one for a packed copy."""
    folder = tmp_path / "static"
    folder.mkdir()
    (folder / "index.html").write_text("page")
    (tmp_path / "key.js").write_text("KEY")
    (folder / "key.js").symlink_to(tmp_path / "key.js")
    (folder / "late.js").write_text("late")
    (folder / "late.js.gz").symlink_to(tmp_path / "key.js")
    assert get(folder, "/key.js").status == 404
    assert get(folder, "/late.js", {"accept-encoding": "gzip"}).body == b"late"
    (folder / "late.js").unlink()
    (folder / "late.js").symlink_to(tmp_path / "key.js")
    assert get(folder, "/late.js").status == 404
