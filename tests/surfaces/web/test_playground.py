"""Writing and running code beside its result: help while typing, the run live, nothing typed ever lost."""

from __future__ import annotations

import subprocess
from typing import Any

from playwright.sync_api import expect

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.people import guest

SLOW = "console.log('first'); await new Promise((go) => setTimeout(go, 60000)); return 1"


def code(page: Any) -> Any:
    return page.get_by_role("textbox", name="Code")


def write(page: Any, text: str) -> None:
    """As it stands: typed by hand, the editor would close brackets by itself."""
    code(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_code_is_run_with_the_keyboard_and_its_run_can_be_shared(visit: Open, daemon: Daemon) -> None:
    page = visit("/playground", permissions=["clipboard-read", "clipboard-write"])
    write(page, "console.log('adding'); return 20 + 22")
    expect(page.get_by_role("button", name="Run the code first to get a link")).to_be_disabled()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Result")).to_contain_text("42")
    expect(page.get_by_role("region", name="Log")).to_contain_text("adding")
    page.get_by_role("button", name="Copy a link to this code").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{daemon.url}/playground?from=exec_")
    other = visit(link)
    expect(code(other)).to_contain_text("return 20 + 22")
    page.reload()
    expect(page.get_by_role("region", name="Result")).to_contain_text("42")


def test_code_of_a_stranger_hides_nothing_in_the_editor_nor_in_the_command(visit: Open, daemon: Daemon) -> None:
    """`highlightSpecialChars` of the editor, `visible` of ui/copy.tsx, and `quoted` of text/code.ts: a terminal acts on
    control characters that are pasted, also within quotes."""
    told = "return 'a\u202eb\u2068c\u200bd\u0003' + \"it's \\\\ \""
    view = daemon.execute(told)
    page = visit(f"/playground?from={view['executionId']}", permissions=["clipboard-read", "clipboard-write"])
    expect(page.locator(".cm-specialChar")).to_have_count(4)
    page.get_by_text("The same in a terminal").click()
    page.get_by_role("button", name="Copy the command").click()
    command = page.evaluate("navigator.clipboard.readText()")
    assert "\u0003" not in command and "\\u0003" in command
    expect(page.locator("details")).to_contain_text("a\\u{202e}b")
    shell = ["bash", "-c", f"printf %s {command.partition('call ')[2]}"]
    words = subprocess.run(shell, capture_output=True, check=True)
    assert words.stdout.decode() == told


def test_the_editor_completes_marks_explains_and_leads_to_the_line(visit: Open, shop: list[Any]) -> None:
    page = visit("/playground")
    write(page, "")
    page.keyboard.type("return await tools.shop.things.create")
    page.get_by_role("option").filter(has_text="createThing").click()
    page.keyboard.type("({")
    page.get_by_role("option").filter(has_text="name").click()
    expect(code(page)).to_contain_text("createThing({name: })")
    write(page, "// one\n// two\nreturn await tools.shop.things.createThing({nam: 'lamp'})")
    problems = page.get_by_role("region", name="Problems")
    expect(page.locator(".cm-lintRange-error").first).to_be_visible()
    problem = problems.get_by_role("button").filter(has_text="Line 3").first
    page.keyboard.press("Control+Home")
    problem.click()
    assert page.evaluate("document.activeElement.shadowRoot.querySelector('.cm-activeLine').textContent").startswith(
        "ret"
    )
    page.get_by_text("createThing", exact=True).last.hover()
    expect(page.locator(".cm-signature")).to_contain_text("tools.shop.things.createThing(")


def test_python_is_completed_checked_and_run(visit: Open, shop: list[Any]) -> None:
    page = visit("/playground?language=python")
    write(page, "")
    page.keyboard.type("found = await tools.shop.things.list")
    page.get_by_role("option").filter(has_text="listThings").click()
    expect(code(page)).to_contain_text("tools.shop.things.listThings")
    write(page, "await tools.shop.things.createThing(nam='lamp')")
    expect(page.get_by_role("region", name="Problems").get_by_role("button")).to_contain_text("nam")
    write(page, "found = await tools.shop.things.listThings()\nprint(len(found))\n{'all': found}")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("all")


def test_what_was_typed_is_there_again_after_another_language_another_page_and_a_reload(visit: Open) -> None:
    page = visit("/playground")
    write(page, "return 'typed in TypeScript'")
    page.get_by_text("Python", exact=True).first.click()
    expect(code(page)).to_contain_text("found")
    write(page, "'typed in Python'")
    page.get_by_role("link", name="Secrets").first.click()
    expect(page.get_by_role("heading", level=1, name="Secrets")).to_be_visible()
    page.goto("/playground?language=python")
    expect(code(page)).to_contain_text("typed in Python")
    page.get_by_text("TypeScript", exact=True).first.click()
    expect(code(page)).to_contain_text("typed in TypeScript")
    page.get_by_role("button", name="Reset").click()
    expect(code(page)).to_contain_text("tools.discover")
    page.keyboard.press("Control+z")
    expect(code(page)).to_contain_text("typed in TypeScript")


def test_a_run_is_followed_while_it_lasts_and_can_be_cancelled(visit: Open) -> None:
    page = visit("/playground")
    write(page, SLOW)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Log")).to_contain_text("first")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("cancelled").first).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()


def test_a_run_that_waits_leads_to_the_decision_and_goes_on_in_every_tab(visit: Open, shop: list[Any]) -> None:
    page = visit("/playground")
    write(page, "const made = await tools.shop.things.createThing({name: 'kettle'}); return made.name")
    page.keyboard.press("Control+Enter")
    link = page.get_by_role("region", name="Waiting for a decision").get_by_role("link", name="Open the full request")
    deciding = visit(link.get_attribute("href"), within=page.context)
    deciding.get_by_role("button", name="Allow once").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("kettle")
    assert {"name": "kettle"} in shop


def test_a_tool_is_found_by_intent_and_its_call_is_put_in_with_what_it_needs(visit: Open, shop: list[Any]) -> None:
    page = visit("/playground")
    code(page).click()
    page.keyboard.press("Control+i")
    page.get_by_role("combobox", name="What should the tool do?").fill("shop create thing")
    expect(page.get_by_role("option", selected=True)).to_contain_text("shop.things.createThing")
    page.keyboard.press("Enter")
    expect(code(page)).to_contain_text("return await tools.shop.things.createThing({ name: ")
    write(page, "const rest = 1;")
    page.get_by_role("button", name="Find a tool").click()
    page.get_by_role("combobox", name="What should the tool do?").fill("shop list things")
    page.get_by_role("option").filter(has_text="shop.things.listThings").click()
    expect(page.locator(".cm-line")).to_have_text(["const rest = 1;", "await tools.shop.things.listThings();"])


def test_the_examples_call_what_is_connected_and_run(visit: Open, shop: list[Any]) -> None:
    page = visit("/playground")
    for title, shown in (("Read", "tools.shop.things.listThings()"), ("Search for tools", "tools.discover")):
        page.get_by_role("button", name="Examples").click()
        page.get_by_role("menuitem", name=title).first.click()
        expect(code(page)).to_contain_text(shown)
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.get_by_text("completed").first).to_be_visible()


def test_own_runs_are_listed_searched_and_opened_again(visit: Open, daemon: Daemon) -> None:
    daemon.execute("return 'an agent ran this'", role="agent")
    daemon.execute("return 'apples'", role="operator")
    daemon.execute("return 'pears'", role="operator")
    page = visit("/playground")
    runs = page.get_by_role("list", name="Your executions")
    expect(runs.get_by_role("link").first).to_contain_text("pears")
    expect(runs.get_by_role("link").filter(has_text="an agent ran this")).to_have_count(0)
    page.get_by_role("searchbox", name="Search your executions").fill("apples")
    expect(runs.get_by_role("link").first).to_contain_text("apples")
    expect(runs.get_by_role("link").filter(has_text="pears")).to_have_count(0)
    runs.get_by_role("link").first.click()
    expect(code(page)).to_contain_text("return 'apples'")
    expect(page.get_by_role("region", name="Result")).to_contain_text("apples")


def test_anyone_who_may_not_run_code_learns_who_can(visit: Open, daemon: Daemon) -> None:
    page = guest(visit, daemon, "viewer", "Vera")
    page.goto("/playground")
    expect(page.get_by_text("Ask a member.")).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    write(page, "return 1")
    page.keyboard.press("Control+Enter")
    wait_for(lambda: page.get_by_role("region", name="Problems").get_by_text("No problems").count())
    assert page.get_by_role("region", name="Result").count() == 0


def test_the_panes_are_resized_with_keys_and_stand_below_each_other_on_a_phone(visit: Open) -> None:
    page = visit("/playground", viewport={"width": 1440, "height": 900})
    handle = page.get_by_role("separator", name="Width of the editor")
    before = handle.bounding_box()["x"]
    handle.focus()
    page.keyboard.press("ArrowLeft")
    expect(handle).to_have_attribute("aria-valuenow", "50")
    assert handle.bounding_box()["x"] < before
    page.set_viewport_size({"width": 380, "height": 780})
    expect(handle).not_to_be_visible()
    editor, result = code(page).bounding_box(), page.get_by_text("The result appears here").bounding_box()
    assert result["y"] > editor["y"] + editor["height"]
