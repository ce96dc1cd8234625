"""Every page and what can be open on it: pictured, looked at by axe, and shown to whoever attacks it.

A view is an address and what a person does there first. The tests that walk through them compare with the router, so
a page without a view fails them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import expect

ROOT = Path(__file__).parents[3]
ROUTER = ROOT / "web" / "src" / "router.tsx"
Look = Literal["light", "dark", "phone"]
Act = Callable[[Any, dict[str, str]], None]


@dataclass(frozen=True)
class View:
    """`place` is whose eyes see it: a workspace in use, one with nothing in it, that of a browser without an account,
    or nobody's who is signed in."""

    name: str
    path: str
    act: Act | None = None
    pictures: tuple[Look, ...] = ("light",)
    place: Literal["used", "empty", "visitor", "outside"] = "used"

    def picture(self, look: Look) -> str:
        return self.name if look == "light" else f"{self.name}-{look}"


def click(name: str, role: Any = "button") -> Act:
    def act(page: Any, names: dict[str, str]) -> None:
        page.get_by_role(role, name=name).first.click()

    return act


def dialog(name: str) -> Act:
    def act(page: Any, names: dict[str, str]) -> None:
        page.get_by_role("button", name=name).first.click()
        expect(page.get_by_role("dialog")).to_be_visible()

    return act


def key(pressed: str) -> Act:
    def act(page: Any, names: dict[str, str]) -> None:
        page.keyboard.press(pressed)
        expect(page.get_by_role("dialog")).to_be_visible()

    return act


def look_up(page: Any, names: dict[str, str]) -> None:
    page.get_by_role("textbox", name="Address").fill(names["address"])
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_label("Namespace")).to_be_visible()


def connect(page: Any, names: dict[str, str]) -> None:
    look_up(page, names)
    page.get_by_label("Namespace").fill("desk2")
    page.get_by_role("button", name="Connect").click()
    page.wait_for_url("**connected=desk2**")
    wait_until_settled(page)


def look_up_nothing(page: Any, names: dict[str, str]) -> None:
    page.get_by_role("textbox", name="Address").fill("http://127.0.0.1:9/openapi.json")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("alert")).to_be_visible()


def move(page: Any, names: dict[str, str]) -> None:
    """As far as the warning of what ends."""
    page.get_by_role("textbox", name="Base URL").fill("https://elsewhere.example")
    page.get_by_role("button", name="Save the settings").click()
    expect(page.get_by_role("button", name="Change it")).to_be_visible()


def always(page: Any, names: dict[str, str]) -> None:
    if (folded := page.get_by_role("button", name="Show everything")).is_visible():
        folded.click()
    if (more := page.get_by_role("button", name="More…")).is_visible():  # a narrow screen keeps it behind that
        more.click()
    page.get_by_role("button", name="Always allow…").click()
    expect(page.get_by_role("region", name="Always allow")).to_contain_text(names["tool"])


def wrong(code: str) -> Act:
    def act(page: Any, names: dict[str, str]) -> None:
        page.get_by_role("textbox", name="Code").click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(code)
        expect(page.locator(".cm-lintRange-error").first).to_be_visible()

    return act


def run(page: Any, names: dict[str, str]) -> None:
    expect(page.get_by_role("textbox", name="Code")).to_contain_text("await")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name=names["outcome"])).to_be_visible()


def search(page: Any, names: dict[str, str]) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(names["tool"].rpartition(".")[2])
    expect(page.get_by_role("option").filter(has_text=names["tool"]).first).to_be_visible()


def tidy(page: Any, names: dict[str, str]) -> None:
    """The checks without folders and processes of whoever runs the tests."""

    def answer(route: Any) -> None:
        checks = route.fetch().json()["checks"]
        route.fulfill(json={"checks": [one for one in checks if one["status"] == "ok" and "/" not in one["message"]]})

    page.route("**/v1/doctor", answer)
    page.reload()
    expect(page.get_by_text("landlock").last).to_be_visible()


WRONG_TS = 'const made = await tools.demo.refunds.createRefund({ id: "inv_1001", amout: 5 });\nreturn made.id;'
WRONG_PYTHON = 'made = await tools.demo.refunds.createRefund(id="inv_1001", amout=5)\nmade["id"]'

VIEWS = (
    View("sources", "/", pictures=("light", "dark", "phone")),
    View("sources-empty", "/", place="empty"),
    View("palette", "/", search),
    View("help", "/", key("?")),
    View("add", "/sources/add"),
    View("add-review", "/sources/add", look_up),
    View("add-credential", "/sources/add", connect),
    View("add-failed", "/sources/add", look_up_nothing, pictures=()),
    View("source", "/sources/{source}", pictures=()),
    View("source-search", "/sources/{source}?q=give+money+back", pictures=()),
    View("source-changes", "/sources/{changed}?view=changes"),
    View("source-document", "/sources/{changed}?view=document"),
    View("source-definitions", "/sources/{changed}?view=definitions", pictures=()),
    View("source-manifest", "/sources/{changed}?view=manifest", pictures=()),
    View("tool", "/sources/{source}?tool={tool}", pictures=("light", "phone")),
    View("tool-typescript", "/sources/{source}?tool={tool}&tab=typescript"),
    View("tool-python", "/sources/{source}?tool={tool}&tab=python", pictures=()),
    View("tool-json", "/sources/{source}?tool={tool}&tab=json", pictures=()),
    View("try", "/sources/{form}&tab=try"),
    View("edit", "/sources/{locked}/edit"),
    View("edit-moved", "/sources/{locked}/edit", move, pictures=()),
    View("edit-disconnect", "/sources/{source}/edit", dialog("Disconnect…"), pictures=()),
    View("source-missing", "/sources/nothing", pictures=()),
    View("executions", "/executions"),
    View("executions-empty", "/executions", place="empty", pictures=()),
    View("execution", "/executions/{done}", pictures=("light", "dark", "phone")),
    View("execution-call", "/executions/{done}?tab=calls&call=1", pictures=()),
    View("execution-log", "/executions/{done}?tab=log", pictures=()),
    View("execution-events", "/executions/{done}?tab=events", pictures=()),
    View("execution-artifacts", "/executions/{kept}?tab=artifacts"),
    View("execution-failed", "/executions/{failed}", pictures=()),
    View("execution-paused", "/executions/{paused}"),
    View("execution-missing", "/executions/exec_nothing", pictures=()),
    View("sessions", "/sessions"),
    View("sessions-empty", "/sessions", place="empty", pictures=()),
    View("session-new", "/sessions", dialog("New session"), pictures=()),
    View("session", "/sessions/{session}", pictures=("light", "phone")),
    View("session-details", "/sessions/{session}?tab=details", pictures=()),
    View("session-missing", "/sessions/ses_nothing", pictures=()),
    View("approvals", "/approvals"),
    View("approvals-empty", "/approvals", place="empty", pictures=()),
    View("approval", "/approvals/{question}", pictures=("light", "phone")),
    View("approval-always", "/approvals/{question}", always),
    View("approval-missing", "/approvals/int_nothing", pictures=()),
    View("connect", "/connect/{credential}"),
    View("tools", "/tools", pictures=("light", "dark", "phone")),
    View("tools-filtered", "/tools?effect=write&policy=allow&q=nothing", pictures=()),
    View("tools-definitions", "/tools?view=definitions", pictures=()),
    View("tools-empty", "/tools", place="empty", pictures=()),
    View("policies", "/policies"),
    View("policies-empty", "/policies", place="empty", pictures=()),
    View("policy", "/policies", dialog("Add a policy")),
    View("toolkits", "/toolkits"),
    View("toolkits-empty", "/toolkits", place="empty", pictures=()),
    View("toolkit", "/toolkits/billing"),
    View("toolkit-new", "/toolkits", dialog("Add a toolkit"), pictures=()),
    View("toolkit-missing", "/toolkits/nothing", pictures=()),
    View("secrets", "/secrets"),
    View("secrets-empty", "/secrets", place="empty", pictures=()),
    View("secret", "/secrets", dialog("Add a secret"), pictures=()),
    View("audit", "/audit"),
    View("audit-nothing", "/audit?since=2100-01-01T00:00:00Z", pictures=()),
    View("playground", "/playground?from={done}", run),
    View("playground-typescript", "/playground", wrong(WRONG_TS)),
    View("playground-python", "/playground?language=python", wrong(WRONG_PYTHON)),
    View("settings", "/settings"),
    View("settings-people", "/settings?tab=people"),
    View("settings-keys", "/settings?tab=keys"),
    View("settings-sessions", "/settings?tab=sessions"),
    View("settings-webhooks", "/settings?tab=webhooks"),
    View("settings-appearance", "/settings?tab=appearance"),
    View("settings-about", "/settings?tab=about", tidy),
    View("sign-in", "/sign-in", place="outside"),
    View("visitor", "/", place="visitor", pictures=("light", "phone")),
    View("visitor-key", "/", act=dialog("Agent key"), place="visitor", pictures=()),
    View("visitor-leave", "/", act=dialog("Leave"), place="visitor", pictures=()),
    View("invitation", "/invitation#{invitation}", place="outside"),
    View("nowhere", "/nowhere/at/all", place="outside", pictures=()),
)


def routes() -> list[str]:
    """The addresses of pages that the router knows, with `:id` for what differs; not those that only redirect."""
    found = re.findall(r'\bpath: "(/[^"]*)"(?!,\s*beforeLoad)', ROUTER.read_text(encoding="utf-8"))
    return [path.replace("$", ":") for path in found]


def route_of(view: View) -> str | None:
    """The route that shows a view. One without names in it goes first, as the router has it."""
    path = re.sub(r"{\w+}", "x", re.split(r"[?#]", view.path)[0])
    for route in sorted(routes(), key=lambda route: route.count(":")):
        if re.fullmatch(re.sub(r":\w+", "[^/]+", route), path):
            return route
    return None


def pictures() -> Iterator[str]:
    for view in VIEWS:
        yield from map(view.picture, view.pictures)


def wait_until_settled(page: Any) -> None:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Loading", exact=True)).to_have_count(0)
