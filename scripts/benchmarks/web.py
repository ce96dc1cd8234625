"""What the web UI costs its visitor: loading, going from page to page, searching and scrolling ten thousand tools."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import browsing, checking, processes
from benchmarks.browsing import Loaded, Unavailable, Visitor
from benchmarks.measures import Rows
from benchmarks.ours import Ours
from benchmarks.report import Results, as_table, number
from benchmarks.series import Series
from executor.surfaces.web.pages import STATIC, is_built

Say = Callable[[str], None]
TOOLS, CALLS, QUESTIONS, LANES = 10_000, 500, 40, 10
FRAMES = Path(__file__).with_name("frames.js")
PLACES = ("/executions", "/approvals", "/policies", "/secrets", "/settings", "/")
STEP = 300  # what a hand moves a wheel by, between one frame and the next
FIRST_LOAD = "web: script of the first load, gzip"
# What others call good, and what this project promises; the paints are those of a page on this very machine.
AIMS = (
    (FIRST_LOAD, 200.0),
    ("web {page}: first contentful paint", 1800.0),
    ("web {page}: largest contentful paint", 2500.0),
    ("web {page}: total blocking time", 200.0),
    ("web {page}: layout shift", 0.1),
    ("web: frames with blank rows", 0.0),
)
PAGES = {
    "/": "/",
    f"/sources/:id, {TOOLS:,} tools": "/sources/many",
    f"/executions/:id, {CALLS} calls": "/executions/{execution}",
    f"/approvals, {QUESTIONS} questions": "/approvals",
}


def measure(folder: Path, *, quick: bool, say: Say) -> Rows:
    """Nothing, and why, where there is no browser to measure with."""
    try:
        if not is_built():
            raise Unavailable("the web UI is not built: `scripts/setup`")
        with browsing.chromium() as browser, house(folder, say) as (url, kept, names):
            return measured(browser, url, kept(browser), names, rounds=3 if quick else 9, say=say)
    except Unavailable as reason:
        say(f"web: skipped: {reason}")
        return {}


def measured(browser: Any, url: str, kept: Any, names: dict[str, str], *, rounds: int, say: Say) -> Rows:
    rows: Rows = {FIRST_LOAD: Series("kB", [first_load() / 1000])}
    for label, path in PAGES.items():
        say(f"web: {label}")
        for _ in range(rounds):
            visitor = Visitor(browser, url, kept)
            collect(rows, label, visitor.load(path.format(**names)))
            visitor.leave()
    visitor = Visitor(browser, url, kept)
    say("web: from page to page")
    rows |= walked(visitor, rounds)
    say(f"web: searching {TOOLS:,} tools while typing")
    rows |= searched(visitor, rounds)
    say(f"web: scrolling {TOOLS:,} tools")
    rows |= scrolled(visitor)
    visitor.leave()
    return rows


def first_load() -> int:
    """What `index.html` names comes before anything is shown; a page's own part comes with the page."""
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    named = re.findall(r'(?:src|href)="/([^"]+\.js)"', text)
    return Loaded(scripts={name: (STATIC / name).read_bytes() for name in named}).script_gzip


def collect(rows: Rows, page: str, found: Loaded) -> None:
    def note(what: str, series: Series) -> None:
        rows.setdefault(f"web {page}: {what}", Series()).extend(series)

    note("first contentful paint", Series("ms", [found.fcp]))
    note("largest contentful paint", Series("ms", [found.lcp], found.cpu))
    note("total blocking time", Series("ms", [found.blocked]))
    note("layout shift", Series("", [found.shift]))
    note("script, gzip", Series("kB", [found.script_gzip / 1000]))
    note("transferred", Series("kB", [found.transferred / 1000]))
    note("requests", Series("", [found.requests]))


def walked(visitor: Visitor, rounds: int) -> Rows:
    """The first time a page's script comes over the wire; afterwards it is there."""
    visitor.open("/")
    first, again = Series("ms", [], 0.0), Series("ms", [], 0.0)
    for turn in range(rounds + 1):
        for place in PLACES:
            spent = visitor.cpu_ms()
            took = visitor.page.evaluate("(place) => window.vitals.go(place)", place)
            (again if turn else first).extend(Series("ms", [took], visitor.cpu_ms() - spent))
    return {"web: to another page, the first time": first, "web: to another page, again": again}


def searched(visitor: Visitor, rounds: int) -> Rows:
    """From the last key until its answer is the first row: the pause in which one may still be typing is part of it."""
    visitor.open("/sources/many")
    label = f"web: search while typing, {TOOLS:,} tools"
    first = Series("ms", *typed(visitor, 7))  # the daemon makes its index, or reads it back
    found = Series("ms", [], 0.0)
    for turn in range(rounds * 2):
        found.extend(Series("ms", *typed(visitor, turn * 37 + 11)))
    visitor.page.get_by_role("searchbox").first.fill("")
    return {f"{label}, the first": first, label: found}


def typed(visitor: Visitor, at: int) -> tuple[list[float], float]:
    """Milliseconds by the clock from the last key on, and of CPU in the page for the whole word."""
    page, wanted = visitor.page, f"createThings{at % (TOOLS // checking.GROUP)}"
    field = page.get_by_role("searchbox").first
    field.fill("")
    page.wait_for_url(lambda url: "q=" not in url)
    spent = visitor.cpu_ms()
    field.press_sequentially(wanted[:-1], delay=40)
    watch = page.evaluate_handle("(text) => ({done: window.vitals.answered('Tools', text)})", wanted)
    field.press(wanted[-1])
    return [watch.evaluate("(watch) => watch.done")], visitor.cpu_ms() - spent


def scrolled(visitor: Visitor) -> Rows:
    """From the first tool to the last, by wheel."""
    page = visitor.page
    visitor.open("/sources/many")
    visitor.wait_until(f"document.querySelector('[aria-label=Tools]').scrollHeight > {TOOLS * 30}")
    place = page.locator('[aria-label="Tools"]').locator("xpath=..").bounding_box()
    page.mouse.move(place["x"] + 40, place["y"] + place["height"] / 2)
    page.evaluate(f"({FRAMES.read_text(encoding='utf-8')})('Tools')")
    spent, before = visitor.cpu_ms(), -1.0
    while (at := page.evaluate("window.watchedSoFar().at")) > before:
        before = at
        for _ in range(20):
            page.mouse.wheel(0, STEP)
        page.evaluate("new Promise(requestAnimationFrame)")
    seen = page.evaluate("window.watchedFrames()")
    if before < TOOLS * 30:
        raise RuntimeError(f"the list of {TOOLS} tools ended at {before} pixels")
    frames = seen["frames"]
    return {
        "web: frames with blank rows": Series("", [seen["blank"]]),
        "web: frames that the rows were behind in": Series("", [seen["behind"]]),
        f"web: a frame while scrolling, longest of {frames}": Series("ms", [seen["longest"]]),
        "web: a frame while scrolling": Series("ms", [(visitor.cpu_ms() - spent) / frames]),
        "web: elements in the document, at most": Series("", [seen["nodes"]]),
    }


@contextmanager
def house(folder: Path, say: Say) -> Iterator[tuple[str, Callable[[Any], Any], dict[str, str]]]:
    """A daemon with ten thousand tools, a long execution and a full inbox; and how to sign in to it."""
    ours = Ours(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with processes.listening([sys.executable, "-m", "benchmarks.upstream"]) as upstream:
        ours.start()
        try:
            say(f"web: connecting {TOOLS:,} tools, making {CALLS} calls")
            yield ours.base_url, lambda browser: signed_in(browser, ours), filled(ours, upstream)
        finally:
            ours.stop()


def filled(ours: Ours, upstream: str) -> dict[str, str]:
    ours.connect(f"{upstream}/openapi.json")
    document = checking.document(TOOLS).decode()
    many = {"kind": "openapi", "location": "many.json", "document": document, "namespace": "many"}
    ours.operator.json("POST", "/v1/sources", many)
    lanes = f"await Promise.all(Array.from({{length: {LANES}}}, (_, k) => tools.things.things.getThing({{id: k}})))"
    code = f"for (let turn = 0; turn < {CALLS // LANES}; turn++) {lanes}; return {CALLS}"
    done = ours.operator.json("POST", "/v1/executions", {"code": code})
    if done["status"] != "completed":
        raise RuntimeError(f"{CALLS} calls gave {str(done)[:500]}")
    client = ours.client()
    for _ in range(QUESTIONS):
        ours.park(client)
    client.close()
    return {"execution": done["executionId"]}


def signed_in(browser: Any, ours: Ours) -> Any:
    """The session's cookie, for every visitor."""
    visitor = Visitor(browser, ours.base_url)
    visitor.open(ours.operator.json("POST", "/v1/auth/links")["url"])
    visitor.page.wait_for_url(lambda url: "sign-in" not in url)
    kept = visitor.context.storage_state()
    visitor.leave()
    return kept


def aims(results: Results, name: str) -> str:
    """Each aim with the median measured; of a count that must be none, whether it is."""
    lines = []
    for label, limit in AIMS:
        for row in dict.fromkeys(label.format(page=page) for page in PAGES):
            if series := results.get(row, {}).get(name):
                share = f"{series.median / limit:.0%}" if limit else ("met" if series.median == 0 else "missed")
                unit = f" {series.unit}".rstrip()
                lines.append([row, f"{number(limit)}{unit}", f"{number(series.median)}{unit}", share])
    return as_table([["aim", "at most", "measured", "share"], *lines]) if lines else ""
