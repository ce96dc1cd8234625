"""Every view, light, dark and on a phone: axe finds nothing serious, nothing is cut off, and each has a picture.

`scripts/screenshots` keeps the pictures; in the tests they are only taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.web import sample_workspace
from tests.surfaces.web.conftest import ViewBrowser
from tests.surfaces.web.views import ROOT, VIEWS, Look, View, pictures, route_of, routes, wait_until_settled

PICTURES = ROOT / "docs" / "screenshots"
PAGE = ROOT / "docs" / "web.md"
LARGEST = 170_000
MOST_KEPT = 12
TOGETHER = 1_200_000
WIDE, NARROW = {"width": 1200, "height": 720}, {"width": 380, "height": 780}
LOOKS: dict[Look, tuple[dict[str, int], str, str]] = {
    "light": (WIDE, "light", "{resultTypes: ['violations']}"),
    "dark": (WIDE, "dark", "{resultTypes: ['violations'], runOnly: ['color-contrast']}"),
    "phone": (NARROW, "light", "{resultTypes: ['violations'], rules: {'color-contrast': {enabled: false}}}"),
}
# Until what was set in motion by the change has come to rest.
FRAME = """new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go))).then(() => Promise.allSettled(
    document.getAnimations().filter((one) => one.effect.getTiming().iterations !== Infinity).map((one) => one.finished)
))"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("views")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def names(daemon: Daemon) -> Iterator[dict[str, str]]:
    with sample_workspace.set_up(daemon) as names:
        yield names


@pytest.fixture(scope="module")
def views(browser: Any, daemon: Daemon, names: dict[str, str]) -> Iterator[ViewBrowser]:
    views = ViewBrowser(browser, daemon, names)
    yield views
    views.close()


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_is_sound_in_every_look(views: ViewBrowser, axe_script: Path, tmp_path: Path, view: View) -> None:
    page = views.open(view)
    page.evaluate(axe_script.read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for look, (size, scheme, policies) in looks_of(view).items():
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        wait_for(lambda page=page, scheme=scheme: page.evaluate("document.documentElement.dataset.theme") == scheme)
        page.evaluate(f"{FRAME}.then(() => null)")
        wait_until_settled(page)
        found[look] = faults(page, policies)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found[look].append("it scrolls sideways")
        if look in view.pictures:
            found[look] += take_pictures(page, view.picture(look), tmp_path)
    wrong = [f"{look}: {fault}" for look, several in found.items() for fault in several]
    assert wrong == []
    assert views.complaints == []


def looks_of(view: View) -> dict[Look, Any]:
    """`EXECUTOR_LOOKS=pictured`, for whoever has little time: light always, the others only where they are pictured."""
    few = os.environ.get("EXECUTOR_LOOKS") == "pictured"
    return {look: how for look, how in LOOKS.items() if not few or look == "light" or look in view.pictures}


def faults(page: Any, policies: str) -> list[str]:
    """The content security policy keeps scripts of a page out; the debugger's are not the page's."""
    found = page.evaluate(f"axe.run(document, {policies}).then((found) => found.violations)")
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:3]]}" for one in serious]


def take_pictures(page: Any, name: str, elsewhere: Path) -> list[str]:
    folder = Path(os.environ.get("EXECUTOR_SCREENSHOTS") or elsewhere)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.png"
    page.screenshot(path=file, animations="disabled", caret="hide")
    return [f"{name}.png has {file.stat().st_size} bytes"] if file.stat().st_size > LARGEST else []


def test_every_page_of_the_router_has_a_view_with_a_picture() -> None:
    shown = {route_of(view) for view in VIEWS if view.pictures}
    assert [route for route in routes() if route not in shown] == []


def test_the_documents_name_every_page_and_show_every_kept_picture() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [route for route in routes() if f"`{route}`" not in text] == []
    kept = {file.stem: file.stat().st_size for file in PICTURES.glob("*.png")}
    assert [name for name in kept if f"(screenshots/{name}.png)" not in text] == []
    assert kept.keys() <= set(pictures())
    assert len(kept) <= MOST_KEPT and max(kept.values()) < LARGEST and sum(kept.values()) < TOGETHER
