"""Executions in a browser: found, followed live, understood call by call, checked, ended and run again."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pytest
from playwright.sync_api import expect

from executor.storage import scan
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open

LOOK = "tools.shop.things.listThings({})"
ROUNDS = f"""\
for (let round = 0; round < 75; round++) {{
  await Promise.all([{LOOK}, {LOOK}, {LOOK}, {LOOK}]);
  console.log("round", round);
}}
return "done";"""


def rows(page: Any) -> Any:
    return page.get_by_role("list", name="Executions").get_by_role("link")


def timeline(page: Any) -> Any:
    return page.get_by_role("region", name="Timeline")


@pytest.fixture(scope="module")
def many(daemon: Daemon, shop: list[Any]) -> str:
    """An execution of 300 calls, four at a time."""
    view = daemon.execute(ROUNDS)
    assert view["status"] == "completed", view
    return str(view["executionId"])


def test_new_executions_appear_in_every_tab_but_never_move_what_is_being_read(visit: Open, daemon: Daemon) -> None:
    daemon.execute("return 'the first one'")
    reading = visit("/executions")
    other = visit("/executions", within=reading.context)
    for page in (reading, other):
        expect(page.get_by_text("Live", exact=True).first).to_be_visible()
        expect(rows(page).first).to_contain_text("the first one")
    reading.keyboard.press("j")
    expect(rows(reading).first).to_be_focused()
    for number in (1, 2):
        daemon.execute(f"return 'new {number}'", role="operator")
    expect(rows(other).first).to_contain_text("new 2")
    expect(rows(other).first).to_contain_text("operator · CLI")
    pill = reading.get_by_role("button", name="2 new")
    expect(pill).to_be_visible()
    expect(rows(reading).first).to_contain_text("the first one")
    expect(rows(reading).first).to_be_focused()
    pill.click()
    expect(rows(reading).first).to_contain_text("new 2")
    expect(rows(reading).nth(2)).to_contain_text("the first one")


def test_filters_stand_in_the_address_and_survive_a_reload(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    found = daemon.execute(f"const needle = await {LOOK}; throw new Error('wanted')")["executionId"]
    daemon.execute("const needle = 1; throw new Error('calls nothing')")
    daemon.execute(f"const needle = await {LOOK}; return 1")
    page = visit("/executions")
    expect(rows(page).first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("needle")
    page.get_by_label("failed").check()
    page.get_by_label("paused").check()
    page.get_by_label("When").select_option("24h")
    page.get_by_role("button", name="More filters").click()
    page.get_by_label("Tool or source").fill("shop.things")
    page.get_by_label("Who").fill("agent")
    page.get_by_label("Runs as").select_option("language typescript")
    for part in ("text=needle", "status=paused%2Cfailed", "since=24h", "tool=shop.things", "actor=agent"):
        page.wait_for_url(lambda url, part=part: part in url)
    expect(rows(page)).to_have_count(1)
    page.reload()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("wanted")
    expect(page.get_by_label("Tool or source")).to_have_value("shop.things")
    command = "executor executions list --status paused --status failed --language typescript --actor agent"
    expect(page.get_by_text(command)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/executions/{found}")
    page.go_back()
    page.get_by_role("button", name="Clear 6 filters").click()
    page.wait_for_url(f"{daemon.url}/executions")
    expect(rows(page).nth(1)).to_be_visible()


def test_older_executions_are_on_pages_of_their_own(visit: Open, daemon: Daemon) -> None:
    for number in range(51):
        daemon.execute(f"return {number} // paged")
    page = visit("/executions?text=paged")
    expect(rows(page)).to_have_count(50)
    page.get_by_role("link", name="Older").click()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("return 0 // paged")
    page.get_by_role("link", name="Newest").click()
    expect(rows(page)).to_have_count(50)


def test_calls_that_run_together_lie_in_lanes_and_are_opened_by_keyboard(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    view = daemon.execute(f"await Promise.all([{LOOK}, {LOOK}]);\nawait {LOOK};\nreturn 1")
    page = visit(f"/executions/{view['executionId']}")
    bars = timeline(page).locator("[data-seq]")
    expect(bars).to_have_count(3)
    tops = [bar.bounding_box()["y"] for bar in bars.all()]
    assert tops[0] < tops[1] and tops[2] == tops[0]
    expect(timeline(page)).to_contain_text("3 calls, up to 2 at a time,")
    bars.first.focus()
    page.keyboard.press("ArrowDown")
    expect(bars.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(bars.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    call = page.get_by_role("region", name="Call 3")
    expect(call).to_contain_text("Arguments")
    expect(call).to_contain_text("line 1, 2")
    assert "call=3" in page.url
    page.keyboard.press("k")
    expect(page.get_by_role("region", name="Call 2")).to_be_visible()
    page.reload()
    expect(page.get_by_role("region", name="Call 2")).to_contain_text("shop.things.listThings")


def test_a_call_that_waits_leads_to_its_approval_and_then_says_who_allowed_it(
    visit: Open, daemon: Daemon, paused: Any
) -> None:
    page = visit(f"/executions/{paused['executionId']}?tab=calls&call=1")
    expect(timeline(page).get_by_role("button", name="needs a decision")).to_have_count(1)
    expect(timeline(page).locator("[data-seq] .hatched")).to_have_count(1)
    call = page.get_by_role("region", name="Call 1")
    expect(call.get_by_role("link", name="Review")).to_have_attribute(
        "href", f"/approvals/{paused['interactions'][0]['id']}"
    )
    page.get_by_role("region", name="Waiting for a decision").get_by_role("link", name="Open the full").click()
    page.wait_for_url(f"**/approvals/{paused['interactions'][0]['id']}")
    page.go_back()
    expect(call).to_contain_text("Waiting for a decision")
    daemon.post(f"/v1/interactions/{paused['interactions'][0]['id']}/approve")
    expect(page.get_by_role("status").filter(has_text="The execution has completed")).to_have_count(1)
    expect(call).to_contain_text("Allowed by operator once")
    expect(timeline(page).get_by_role("button", name="succeeded")).to_have_count(1)
    expect(page.get_by_role("region", name="Result")).to_contain_text("lamp")


def test_a_failure_marks_its_line_and_a_denial_and_a_retry_are_distinguished(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    policy = daemon.post("/v1/policies", {"pattern": "shop.things.listThings", "action": "deny", "note": "no"}).json
    code = (
        f"const any: any = tools;\nfor (let n = 0; n < 2; n++) try {{ await {LOOK} }} catch {{}}\n"
        "try { await any.shop.nothing({}) } catch {}\nawait any.shop.things.createThing({name: 7});"
    )
    try:
        view = daemon.execute(code, typecheck="off")
    finally:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    page = visit(f"/executions/{view['executionId']}?tab=calls&call=4")
    bars = timeline(page)
    expect(bars.get_by_role("button", name="denied")).to_have_count(2)
    expect(bars.get_by_role("button", name="retry of 1")).to_have_count(1)
    expect(bars.get_by_role("button", name="failed")).to_have_count(2)
    marked = page.locator("[data-line='4']")
    expect(marked).to_contain_text("createThing")
    expect(marked).to_contain_text(re.compile("Line 4: .*name"))
    assert "bg-bad-soft" in str(marked.get_attribute("class"))
    call = page.get_by_role("region", name="Call 4")
    expect(call).to_contain_text("invalid_arguments")
    expect(call).to_contain_text("not sent")
    expect(page.get_by_role("region", name="Error")).to_contain_text("invalid_arguments")


def test_the_log_is_followed_unless_one_reads_and_cancelling_takes_two_steps(visit: Open, daemon: Daemon) -> None:
    code = """for (let n = 0; ; n++) {
      for (let k = 0; k < 10; k++) console.log("round", n, "line", k);
      await new Promise((go) => setTimeout(go, 100));
    }"""
    view = daemon.execute(code, wait=0)
    page = visit(f"/executions/{view['executionId']}?tab=log")
    log = page.get_by_role("region", name="Log")
    expect(log).to_contain_text("round 6")
    rest = "element => element.scrollHeight - element.scrollTop - element.clientHeight"
    wait_for(lambda: log.evaluate("element => element.scrollHeight > element.clientHeight + 200"))
    wait_for(lambda: log.evaluate(rest) < 24)
    # A busy browser reports scrolling late, and lines come in before: here it never does.
    page.evaluate("addEventListener('scroll', withhold = (event) => event.stopImmediatePropagation(), true)")
    log.evaluate("element => element.scrollTo(0, 0)")
    to_end = page.get_by_role("button", name="To the end")
    expect(to_end).to_be_visible()
    page.evaluate("removeEventListener('scroll', withhold, true)")
    top = log.locator("> div").first.inner_text()
    rounds = [int(number) for number in re.findall(r"round (\d+)", log.inner_text())]
    expect(log).to_contain_text(f"round {rounds[-1] + 55} line 9")  # more lines than are shown while they are followed
    assert log.evaluate("element => element.scrollTop") == 0
    assert log.locator("> div").first.inner_text() == top
    to_end.click()
    wait_for(lambda: log.evaluate(rest) < 24)
    page.get_by_role("button", name="Cancel…").click()
    dialog = page.get_by_role("dialog", name="Cancel this execution?")
    expect(dialog).to_contain_text(f"executor executions cancel {view['executionId']}")
    dialog.get_by_role("button", name="Leave it running").click()
    assert daemon.get(f"/v1/executions/{view['executionId']}").json["status"] == "running"
    page.get_by_role("button", name="Cancel…").click()
    dialog.get_by_role("button", name="Cancel the execution").click()
    expect(page.get_by_role("status").filter(has_text="The execution was cancelled")).to_have_count(1)
    assert daemon.get(f"/v1/executions/{view['executionId']}").json["status"] == "cancelled"


def test_three_hundred_calls_stay_legible_and_few_are_in_the_document(visit: Open, many: str) -> None:
    page = visit(f"/executions/{many}")
    bars = timeline(page).locator("[data-seq]")
    expect(bars.first).to_be_visible()
    expect(timeline(page)).to_contain_text("300 calls, up to 4 at a time,")
    assert bars.count() < 260
    assert page.get_by_role("list", name="Calls").get_by_role("listitem").count() < 40
    assert page.evaluate("document.querySelectorAll('*').length") < 1500
    assert timeline(page).bounding_box()["height"] < 500
    bars.first.focus()
    page.keyboard.press("End")
    expect(timeline(page).locator("[data-seq='300']")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Call 300")).to_contain_text("Result")
    page.get_by_role("button", name="Show the whole width").click()
    expect(bars.nth(100)).to_be_attached()
    box = timeline(page).locator("fieldset").locator("xpath=../..")
    assert box.evaluate("element => element.scrollWidth <= element.clientWidth + 1")


def test_events_are_sentences_with_their_json_on_demand_page_by_page(visit: Open, many: str) -> None:
    page = visit(f"/executions/{many}?tab=events")
    events = page.get_by_role("list", name="Events").locator("> li")
    expect(events).to_have_count(200)
    expect(events.nth(1)).to_contain_text("Call 1, shop.things.listThings sent")
    events.nth(1).locator("summary").click()
    expect(events.nth(1)).to_contain_text('type: "call.started"')
    for shown in (400, 600):
        page.get_by_role("button", name="Show more").click()
        expect(events).to_have_count(shown)
    page.get_by_label("Which events").select_option("log")
    expect(events).to_have_count(75)
    expect(events.last).to_contain_text("Logged: round 74")


def test_a_replay_shows_that_nothing_differs_or_what_does(visit: Open, daemon: Daemon) -> None:
    view = daemon.execute("return {sum: 1 + 1, list: [1, 2]}")
    page = visit(f"/executions/{view['executionId']}")
    page.get_by_role("button", name="Check by replay").click()
    outcome = page.get_by_role("status").filter(has_text="the recorded run")
    expect(outcome).to_contain_text("Replay matches the recorded run")
    with sqlite3.connect(daemon.executor.settings.database_file) as database:
        changed = '{"sum":3,"list":[1,2]}'
        database.execute("update executions set result = ? where id = ?", (changed, view["executionId"]))
    page.get_by_role("button", name="Check by replay").click()
    expect(outcome).to_contain_text("Replay differs from the recorded run: the result differs")
    expect(outcome.get_by_role("list", name="What differs")).to_have_text("≠ /sum")
    expect(outcome).to_contain_text("Recorded")


def test_code_is_run_again_at_once_or_taken_to_the_playground(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    first = daemon.execute("return 'once more'")["executionId"]
    page = visit(f"/executions/{first}")
    page.get_by_role("button", name="Run again").click()
    page.wait_for_url(lambda url: "/executions/exec_" in url and first not in url)
    expect(page.get_by_role("region", name="Result")).to_contain_text("once more")
    expect(page.get_by_text("by operator through web UI")).to_be_visible()
    page.get_by_role("link", name="Edit in the playground").click()
    expect(page.get_by_role("textbox", name="Code")).to_contain_text("once more")


def test_running_a_write_again_is_asked_about_first(visit: Open, daemon: Daemon, paused: Any) -> None:
    page = visit(f"/executions/{paused['executionId']}")
    page.get_by_role("button", name="Run again").click()
    dialog = page.get_by_role("dialog", name="Run it again?")
    expect(dialog).to_contain_text("one call that writes")
    dialog.get_by_role("button", name="Don't").click()
    expect(dialog).to_have_count(0)
    assert paused["executionId"] in page.url


def test_on_a_phone_nothing_is_cut_off(visit: Open, many: str, paused: Any) -> None:
    page = visit("/executions?tool=shop", viewport={"width": 380, "height": 740}, has_touch=True)
    expect(page.get_by_label("Tool or source")).to_be_visible()
    expect(rows(page).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for path in (f"/executions/{many}?tab=calls&call=7", f"/executions/{many}?tab=events", "/audit"):
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_text("Loading", exact=True)).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.goto(f"/executions/{paused['executionId']}")
    timeline(page).get_by_role("button", name="needs a decision").tap()
    expect(page.get_by_role("region", name="Call 1")).to_contain_text("lamp")


def test_a_search_that_ended_at_its_bound_says_so_and_goes_on(
    visit: Open, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.execute("return 'a needle in the history'", wait=60)
    for _ in range(3):
        daemon.execute("return 'hay'", wait=60)
    monkeypatch.setattr(scan, "SCANNED", 2)
    monkeypatch.setattr(scan, "BLOCK", 2)
    page = visit("/executions?text=needle")
    page.get_by_role("link", name="No match yet: search older ones").click()
    expect(page.get_by_role("link", name="a needle in the history")).to_be_visible()
    page.get_by_role("link", name="Search older ones").click()
    expect(page.get_by_role("link", name="Newest")).to_be_visible()
    expect(page.get_by_role("link", name="a needle in the history")).to_have_count(0)
