"""A real Chromium that looks at the web UI, and what it says of a page over its debugging protocol."""

from __future__ import annotations

import gzip
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import processes

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run")
VITALS = Path(__file__).with_name("vitals.js")
SETTLED_SECONDS = 0.4  # a late paint or shift is still part of the load


class Unavailable(Exception):
    """Why there is nothing to measure with."""


@dataclass
class Loaded:
    """Of one load with nothing kept from before: milliseconds, bytes, and the shifts that a visitor sees."""

    fcp: float = 0.0
    lcp: float = 0.0
    blocked: float = 0.0
    shift: float = 0.0
    cpu: float = 0.0
    requests: int = 0
    transferred: int = 0
    scripts: dict[str, bytes] = field(default_factory=dict)

    @property
    def script_gzip(self) -> int:
        return sum(len(gzip.compress(content)) for content in self.scripts.values())


@contextmanager
def chromium() -> Iterator[Any]:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise Unavailable("there is no chromium: `apt-get install chromium`")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise Unavailable("Playwright is not installed: `scripts/setup dev`") from error
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield started
        finally:
            started.close()


class Visitor:
    """Somebody who is signed in. Each has a cache of their own."""

    def __init__(self, browser: Any, base_url: str, kept: Any = None) -> None:
        self.context = browser.new_context(
            base_url=base_url, storage_state=kept, viewport={"width": 1440, "height": 900}
        )
        self.context.set_default_timeout(60_000)
        self.context.add_init_script(path=VITALS)
        self.page = self.context.new_page()
        self.wire = self.context.new_cdp_session(self.page)
        self.wire.send("Performance.enable", {"timeDomain": "threadTicks"})  # CPU, however busy the machine is

    def cpu_ms(self) -> float:
        """CPU time of the page's main thread so far."""
        told = {one["name"]: one["value"] for one in self.wire.send("Performance.getMetrics")["metrics"]}
        return float(told["TaskDuration"]) * 1000

    def open(self, path: str) -> None:
        self.page.goto(path)
        self.wait_until("!window.vitals.loading()")

    def wait_until(self, expression: str) -> None:
        """Asked from outside: the page's policy lets nobody evaluate text in it, which waiting inside would need."""
        processes.wait_until(lambda: bool(self.page.evaluate(expression)), limit=60, pause=0.02, what=expression)

    def load(self, path: str) -> Loaded:
        found = Loaded()
        self.wire.on("Network.loadingFinished", lambda event: note(found, event))
        self.wire.send("Network.enable")
        self.page.on("response", lambda answer: answers.append(answer))
        answers: list[Any] = []
        spent = self.cpu_ms()
        self.open(path)
        time.sleep(SETTLED_SECONDS)
        found.cpu = self.cpu_ms() - spent
        told = self.page.evaluate("window.vitals.told()")
        found.fcp, found.lcp, found.blocked, found.shift = (told[name] for name in ("fcp", "lcp", "blocked", "shift"))
        for answer in answers:
            if answer.request.resource_type == "script" and answer.ok:
                found.scripts[answer.url] = answer.body()
        return found

    def leave(self) -> None:
        self.context.close()


def note(found: Loaded, event: Any) -> None:
    found.requests += 1
    found.transferred += int(event["encodedDataLength"])
