"""A real browser in front of a real daemon. Where there is no browser or no build, the tests say so and are skipped."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api

from executor.surfaces.web.pages import is_built
from tests.support.conditions import wait_for
from tests.support.shop import daemon, paused, shop
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Answer, Daemon
from tests.surfaces.web import hostile_api
from tests.surfaces.web.views import View, wait_until_settled

__all__ = ["daemon", "paused", "shop"]
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--disable-gpu",
    "--disable-gpu-rasterization",
    "--disable-software-rasterizer",
)
Open = Callable[..., Any]

# A busy machine is slow, and that is no failure: only what never comes is.
sync_api.expect.set_options(timeout=60_000)


# A note, "Copied" or "Sure?" is gone after seconds. Here they stay longer: the next step of a test may come late.
PATIENCE = """(window => {
    const later = window.setTimeout
    const passing = [1500, 3500, 5000, 8000]
    window.setTimeout = (act, delay, ...rest) => later(act, passing.includes(delay) ? delay * 10 : delay, ...rest)
})(window)"""


@contextmanager
def chromium(**options: Any) -> Iterator[Any]:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("there is no chromium: `apt-get install chromium`")
    if not is_built():
        pytest.skip("the web UI is not built: `scripts/setup`")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS), **options)
        yield started
        started.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Not for longer than a module: while it is open, an event loop of its own runs in this thread."""
    with chromium() as started:
        yield started


@pytest.fixture
def also_asked() -> tuple[str, ...]:
    """Addresses besides the daemon's that a browser may ask: none, but where a module says otherwise."""
    return ()


@pytest.fixture
def visit(browser: Any, daemon: Daemon, also_asked: tuple[str, ...]) -> Iterator[Open]:
    """Open an address in a browser of its own, signed in unless said otherwise; its complaints fail the test."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def open_page(path: str, *, signed_in: bool = True, within: Any = None, **options: Any) -> Any:
        options.setdefault("viewport", {"width": 1280, "height": 860})
        context = within or browser.new_context(base_url=daemon.url, **options)
        if within is None:
            contexts.append(context)
            context.set_default_timeout(60_000)
            context.add_init_script(PATIENCE)
            if signed_in:
                sign_in(context, daemon)
        page = watch(context.new_page(), (daemon.url, *also_asked), complaints)
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def watch(page: Any, asked: tuple[str, ...], complaints: list[str]) -> Any:
    page.on("console", lambda message: note(message, complaints))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: check_request(request, asked, complaints))
    return page


def sign_in(context: Any, daemon: Daemon) -> None:
    """Without a page: that a page can do it is tried in test_sign_in.py. Each context has a session of its own."""
    keep_cookie(context, daemon, identities.signed_in(daemon).cookie)


def keep_cookie(context: Any, daemon: Daemon, cookie: str) -> None:
    name, _, value = cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": daemon.url, "httpOnly": True, "sameSite": "Strict"}])


def note(message: Any, complaints: list[str]) -> None:
    """Errors of scripts and breaches of the content security policy. An answer of 404 is no error of the page.

    In an editor the browser itself wants to give typed text the colour of what it replaces, and may not.
    """
    typed = message.text.startswith("Applying inline style") and "/playground" in message.page.url
    if message.type == "error" and not typed and not message.text.startswith("Failed to load resource"):
        complaints.append(message.text)


def check_request(request: Any, asked: tuple[str, ...], complaints: list[str]) -> None:
    """No host but the daemon's own is ever asked."""
    if not request.url.startswith((*asked, "data:", "blob:")):
        complaints.append(f"a request to another host: {request.url}")


class ViewBrowser:
    """Opens views in one context for each kind of place, kept open: a new one for each would cost seconds."""

    def __init__(self, browser: Any, daemon: Daemon, names: dict[str, str]) -> None:
        self._browser, self._daemon, self._names = browser, daemon, names
        self._pages: dict[str, Any] = {}
        self.complaints: list[str] = []

    def open(self, view: View) -> Any:
        """The view as it is once everything has come and the person has done what belongs to it."""
        self.complaints.clear()
        page = self._pages.get(view.place) or self._enter(view.place)
        page.set_viewport_size({"width": 1200, "height": 720})
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(view.path.format(**self._names))
        wait_until_settled(page)
        if view.act:
            view.act(page, self._names)
            wait_until_settled(page)
        return page

    def close(self) -> None:
        for page in self._pages.values():
            page.context.close()

    def _enter(self, place: str) -> Any:
        context = self._browser.new_context(base_url=self._daemon.url)
        context.set_default_timeout(60_000)
        if place == "visitor":
            keep_cookie(context, self._daemon, identities.visitor(self._daemon).cookie)
        elif place != "outside":
            sign_in(context, self._daemon)
        if place == "empty":
            chosen = f"localStorage.setItem('executor.workspace', '{self._names['empty']}')"
            context.add_init_script(chosen)
        context.route("**/v1/clients*", self._hide_paths)
        self._pages[place] = watch(context.new_page(), (self._daemon.url,), self.complaints)
        return self._pages[place]

    def _hide_paths(self, route: Any) -> None:
        """Pictures show the paths of an ordinary installation, not those of the machine that runs the tests."""
        settings = self._daemon.executor.settings
        text = route.fetch().text().replace(str(Path(sys.executable).parent), "/home/you/.local/bin")
        text = text.replace(str(settings.data_dir), "/home/you/.local/share/executor")
        route.fulfill(body=text, content_type="application/json")


@pytest.fixture(scope="session")
def axe_script() -> Path:
    package = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    return next(Path(package.__file__).parent.rglob("axe.min.js"))


@pytest.fixture(scope="module")
def hostile(daemon: Daemon) -> Iterator[str]:
    """A source `evil` whose every text attacks the reader."""
    with hostile_api.running() as address:
        added = daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "evil"})
        assert added.status == 201, added.body
        yield address


@pytest.fixture(scope="module")
def many(daemon: Daemon, hostile: str) -> str:
    """The namespace of a source with 10,000 tools. A busy machine may take longer to connect than a daemon waits."""

    def add() -> Answer | None:
        answer = daemon.post("/v1/sources", {"location": f"{hostile}/many.json", "namespace": "many"})
        return None if answer.status == 502 and answer.json["reason"] == "timeout" else answer

    added = wait_for(add, "the source", seconds=600)
    assert added.status == 201, added.body
    assert added.json["toolCount"] == 10_000
    return "many"
