"""Deciding where a call came up: everything is in view there, and what came of it appears in the same place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from playwright.sync_api import expect

from executor.storage.tables.core import interactions
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.people import guest
from tests.surfaces.web.test_approvals import HOLD, RELEASE

CREATE = "shop.things.createThing"
TRY = f"/sources/shop?tool={CREATE}&tab=try"
LONG = "x" * 7_000
FITS = """box => {
    const pen = document.createElement('canvas').getContext('2d');
    pen.font = getComputedStyle(box).font;
    return pen.measureText(box.selectedOptions[0].text).width < box.clientWidth - 40;
}"""


@pytest.fixture(autouse=True)
def nothing_stays(daemon: Daemon) -> Iterator[None]:
    yield
    for one in daemon.get("/v1/interactions?status=pending&limit=500").json["items"]:
        daemon.post(f"/v1/interactions/{one['id']}/deny", {})


def card(page: Any) -> Any:
    return page.get_by_role("article", name=f"Request: {CREATE}")


def create(name: str) -> str:
    return f"return await tools.{CREATE}({{name: {json.dumps(name)}}})"


def status(daemon: Daemon, interaction_id: str) -> str:
    return str(daemon.get(f"/v1/interactions/{interaction_id}").json["status"])


def test_a_call_that_is_tried_is_decided_beside_the_form_and_its_run_outlives_reload_and_back(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    page = visit(TRY)
    page.get_by_label("name", exact=True).fill("stool")
    page.get_by_role("button", name="Run", exact=True).click()
    for shown in (
        'name: "stool"',
        "POST http://127.0.0.1:",
        "http://127.0.0.1:",
        "a write needs approval",
        "in 7 days",
    ):
        expect(card(page)).to_contain_text(shown)
    expect(card(page).get_by_role("region", name="Line of code")).to_contain_text("→ 1return await tools.shop")
    expect(card(page)).to_contain_text("Credential")
    page.reload()
    expect(page.get_by_label("name", exact=True)).to_have_value("stool")
    card(page).get_by_role("link", name="Open the full request").click()
    expect(page.get_by_role("article", name="The request")).to_contain_text("stool")
    page.go_back()
    expect(page.get_by_label("name", exact=True)).to_have_value("stool")
    card(page).get_by_role("button", name="Allow once").click()
    expect(card(page)).to_contain_text("Allowed by you")
    expect(page.get_by_role("region", name="Result")).to_contain_text("stool")
    assert shop.count({"name": "stool"}) == 1
    page.reload()
    expect(page.get_by_label("name", exact=True)).to_have_value("stool")
    expect(page.get_by_role("region", name="Result")).to_contain_text("stool")
    page.get_by_label("name", exact=True).fill("bench")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(card(page)).to_contain_text('name: "bench"')
    card(page).get_by_role("button", name="Deny…").click()
    card(page).get_by_label("Reason").fill("not in this house")
    card(page).get_by_role("button", name="Deny", exact=True).click()
    expect(card(page)).to_contain_text("Denied by you")
    expect(page.get_by_role("region", name="Error")).to_contain_text("not in this house")
    assert {"name": "bench"} not in shop
    page.get_by_role("list", name="Tools").get_by_role("button", name="listThings").click()
    page.wait_for_url(lambda url: "run=" not in url)


def test_a_run_in_the_address_that_is_another_persons_another_tools_or_none_says_so(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    agents = daemon.execute("return await tools.shop.things.listThings({})")["executionId"]
    page = visit(f"{TRY}&run=exec_nonsense")
    expect(page.get_by_role("alert")).to_contain_text("exec_nonsense")
    expect(page.get_by_label("name", exact=True)).to_be_editable()
    page.get_by_role("button", name="Close this run").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.goto(f"{TRY}&run={agents}")
    expect(page.get_by_role("note")).to_contain_text("is not a call of this tool")
    page.goto(f"/playground?run={agents}")
    expect(page.get_by_role("note")).to_contain_text("You are looking at a run of agent")
    page.goto("/playground?run=exec_nonsense")
    expect(page.get_by_role("alert")).to_contain_text("exec_nonsense")
    page.get_by_role("button", name="Close this run").click()
    expect(page.get_by_text("The result appears here")).to_be_visible()


def test_every_approval_of_a_run_is_there_with_its_answer_and_follows_what_others_decide(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    view = daemon.execute(
        f'const [made] = await Promise.all([tools.{CREATE}({{name: "red"}}), tools.shop.things.listThings({{}})]);\n'
        f'await tools.{CREATE}({{name: "blue"}}).catch(() => 0);\nreturn "done with " + made.name;'
    )
    page = visit(f"/executions/{view['executionId']}")
    first = card(page).filter(has_text="red")
    first.get_by_role("button", name="Allow once").click()
    expect(first.get_by_role("region", name="What the call returned")).to_contain_text('name: "red"')
    second = card(page).filter(has_text="blue")
    expect(second.get_by_role("button", name="Allow once")).to_be_enabled()
    [other] = daemon.get(f"/v1/interactions?status=pending&executionId={view['executionId']}").json["items"]
    daemon.post(f"/v1/interactions/{other['id']}/deny", {"reason": "decided in a terminal"})
    expect(second).to_contain_text("decided in a terminal")
    expect(second.get_by_role("button", name="Allow once")).to_have_count(0)
    expect(page.get_by_role("region", name="Result", exact=True)).to_contain_text("done with red")
    page.goto(f"/approvals/{view['interactions'][0]['id']}")
    approval = page.get_by_role("article", name="The request")
    expect(approval).to_contain_text("Allowed by you")
    expect(approval.get_by_role("region", name="What the call returned")).to_contain_text('name: "red"')


def test_nothing_can_be_allowed_in_a_card_before_all_of_it_was_in_view(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    """Also of arguments that a list cuts: the card reads all of them."""
    for name in (LONG, "y" * 70_000):
        view = daemon.execute(create(name))
        page = visit(f"/executions/{view['executionId']}")
        allow = card(page).get_by_role("button", name="Allow once")
        expect(card(page).get_by_text("Not everything is in view")).to_be_visible()
        expect(card(page).get_by_role("button", name="Deny…")).to_be_enabled()
        expect(allow).to_be_disabled()
        card(page).get_by_role("button", name="Show everything").click()
        expect(card(page)).to_contain_text(name)
        expect(allow).to_be_enabled()
        daemon.post(f"/v1/executions/{view['executionId']}/cancel")
        expect(card(page)).to_contain_text("cancelled with its execution")


def test_the_palette_decides_without_leaving_the_page_and_a_card_hears_no_single_key(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    view = daemon.execute(create("from the palette"))
    asked = view["interactions"][0]["id"]
    page = visit("/secrets")
    expect(page.get_by_role("heading", level=1, name="Secrets")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("option").filter(has_text=CREATE).filter(has_text="from the palette").click()
    expect(card(page).get_by_role("button", name="Allow once")).to_be_enabled()
    for key in ("a", "y", "Enter"):
        page.keyboard.press(key)
    assert status(daemon, asked) == "pending"
    card(page).get_by_role("button", name="Allow once").click()
    expect(card(page).get_by_role("region", name="What the call returned")).to_contain_text("from the palette")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url.endswith("/secrets")


def test_someone_who_may_not_decide_reads_why_in_the_card(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    view = daemon.execute(create("for a viewer"))
    page = guest(visit, daemon, "viewer", "Vi")
    page.goto(f"/executions/{view['executionId']}")
    expect(card(page)).to_contain_text("your role can't decide it")
    expect(card(page).get_by_role("button", name="Allow once")).to_have_count(0)
    expect(card(page).get_by_role("button", name="Deny…")).to_have_count(0)


def test_a_card_for_a_lost_answer_and_one_for_a_credential_lead_on(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    view = daemon.execute(create("lost"))
    asked = view["interactions"][0]["id"]
    lost = sa.update(interactions).where(interactions.c.id == asked)
    daemon.run(daemon.executor.database.write(lambda c: c.execute(lost.values(kind="unknown_outcome"))))
    page = visit(f"/executions/{view['executionId']}")
    expect(card(page).get_by_role("button", name="Send it again")).to_be_enabled()
    expect(card(page).get_by_role("button", name="It took effect: enter its result…")).to_be_enabled()
    daemon.run(daemon.executor.database.write(lambda c: c.execute(lost.values(kind="credential"))))
    page.reload()
    link = card(page).get_by_role("link", name="Enter the credential")
    expect(link).to_have_attribute("href", f"/connect/{asked}")


def test_like_calls_are_allowed_together_each_by_its_own_request_and_what_changed_is_skipped(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    many = (
        "await Promise.allSettled(Array.from({length: %d}, (_, n) => tools.shop.things.createThing({name: `%s ${n}`})))"
    )
    view = daemon.execute(many % (5, "like"))
    page = visit("/approvals")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.get_by_role("link", name="Review all 5").click()
    group = page.get_by_role("article", name=f"Requests: {CREATE}")
    rows = group.get_by_role("region", name="Each call").get_by_role("listitem")
    expect(rows).to_have_count(5)
    for number in range(5):
        expect(group).to_contain_text(f'name: "like {number}"')
    allow = group.get_by_role("button", name="Allow these 5")
    expect(allow).to_be_enabled()
    page.route("**/v1/interactions?**", lambda route: route.abort())  # this browser does not hear of it in time
    faster = view["interactions"][2]["id"]
    daemon.post(f"/v1/interactions/{faster}/deny", {})
    allow.click()
    expect(group.get_by_role("status").last).to_contain_text("4 allowed, 1 skipped")
    expect(rows.filter(has_text="skipped")).to_have_count(1)
    rows.filter(has_text="like 4").get_by_role("button", name="Show what it returned").click()
    expect(rows.filter(has_text="like 4").get_by_role("region")).to_contain_text("It returned:")
    assert sorted(url.split("/")[-2] for url in sent if url.endswith("/approve")) == sorted(
        one["id"] for one in view["interactions"]
    )
    page.unroute("**/v1/interactions?**")
    wait_for(lambda: sum("like" in str(one) for one in shop) == 4)
    other = daemon.execute(many % (3, "unlike"))
    page.goto(f"/executions/{other['executionId']}")
    group = page.get_by_role("article", name=f"Requests: {CREATE}")
    group.get_by_role("button", name="Deny all 3…").click()
    group.get_by_label("Reason").fill("too many")
    group.get_by_role("button", name="Deny", exact=True).click()
    expect(group.get_by_role("status").last).to_contain_text("3 denied.")
    assert not any("unlike" in str(one) for one in shop)
    items = daemon.get(f"/v1/interactions?executionId={other['executionId']}").json["items"]
    assert {one["decisionReason"] for one in items} == {"too many"}


def test_like_calls_are_not_allowed_together_before_all_of_them_were_in_view(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    """Each is short, all of them are long; one that a list cuts is left to be opened alone."""
    code = "await Promise.allSettled([...'abcd'].map((n) => tools.shop.things.createThing({name: n.repeat(%s)})))"
    view = daemon.execute(code % "n === 'd' ? 70_000 : 2_500")
    page = visit(f"/executions/{view['executionId']}")
    group = page.get_by_role("article", name=f"Requests: {CREATE}")
    allow = group.get_by_role("button", name="Allow these 3")
    expect(group.get_by_role("button", name="Deny all 4…")).to_be_enabled()
    expect(allow).to_be_disabled()
    expect(group).to_contain_text("Too long to decide here")
    group.get_by_role("button", name="Show everything").click()
    expect(group).to_contain_text("c" * 2_500)
    allow.click()
    expect(group.get_by_role("status").last).to_contain_text("3 allowed. 1 still waiting.")
    [left] = daemon.get(f"/v1/interactions?status=pending&executionId={view['executionId']}").json["items"]
    assert left["argumentsCut"]
    daemon.post(f"/v1/interactions/{left['id']}/deny", {})
    daemon.execute(code % "10")
    page.goto("/approvals")
    expect(page.get_by_role("article", name="The request")).to_be_visible()
    page.evaluate(HOLD)
    page.get_by_role("link", name="Review all 4").click()
    expect(page.get_by_role("button", name="Allow these 4")).to_be_disabled()
    page.evaluate(RELEASE)
    expect(page.get_by_role("button", name="Allow these 4")).to_be_enabled()


def test_the_first_that_waits_is_open_where_there_is_room_and_stays_so(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    page = visit("/approvals", viewport={"width": 1440, "height": 900})
    empty = page.get_by_text("No pending approvals").locator("xpath=..")
    expect(empty).to_be_visible()
    assert empty.bounding_box()["width"] > 900
    first = daemon.execute(create("first"))["interactions"][0]["id"]
    page.wait_for_url(f"**/approvals/{first}")
    daemon.execute(create("second"))
    expect(page.get_by_role("link", name="Review all 2")).to_be_visible()
    expect(page.get_by_role("region", name="Arguments")).to_contain_text('"first"')
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        for choice in page.get_by_role("combobox").all():
            assert choice.evaluate(FITS), width
    phone = visit("/approvals", viewport={"width": 390, "height": 800})
    expect(phone.get_by_role("list", name="Requests")).to_contain_text(CREATE)
    expect(phone.get_by_role("article")).to_have_count(0)
    assert phone.url.endswith("/approvals")
