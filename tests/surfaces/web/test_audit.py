"""The record in a browser: looked through, read in full, and held against its seals."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open


def test_the_record_is_found_by_who_what_and_when_and_read_in_full(visit: Open, daemon: Daemon) -> None:
    policy = daemon.post("/v1/policies", {"pattern": "audited.**", "action": "deny"}).json
    daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    view = daemon.execute("return 1")
    page = visit("/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("audit")
    page.keyboard.press("Enter")
    page.wait_for_url("**/audit")
    events = page.get_by_role("list", name="What happened").locator("> li")
    page.get_by_label("What", exact=True).select_option("policy.*")
    page.get_by_label("Who", exact=True).fill("operator")
    page.get_by_label("When", exact=True).select_option("1h")
    page.wait_for_url(lambda url: "actor=operator" in url and "since=1h" in url and "type=policy" in url)
    expect(events.first).to_contain_text("Policy removed: audited.**")
    page.reload()
    expect(events.first).to_contain_text("Policy removed: audited.**")
    expect(page.get_by_text("executor audit list --type 'policy.*'", exact=False)).to_be_visible()
    events.first.locator("summary").click()
    for told in ("operator_token 127.0.0.1", policy["id"], "Seal"):
        expect(events.first).to_contain_text(told)
    page.get_by_label("What", exact=True).select_option("execution.*")
    page.get_by_label("Who", exact=True).fill("agent")
    expect(events.first).to_contain_text("agent")
    expect(events.first).to_contain_text("Execution completed")
    events.first.locator("summary").click()
    events.first.get_by_role("link", name=view["executionId"]).click()
    page.wait_for_url(f"**/executions/{view['executionId']}")


def test_older_parts_of_the_record_are_on_pages_of_their_own(visit: Open, daemon: Daemon) -> None:
    for _ in range(11):
        daemon.execute("for (let n = 0; n < 10; n++) console.log(n)")
    page = visit("/audit?type=execution.log")
    events = page.get_by_role("list", name="What happened").locator("> li")
    expect(events).to_have_count(100)
    page.get_by_role("link", name="Older").click()
    page.wait_for_url("**before=*")
    expect(events.first).to_contain_text("Execution logged: 9")
    page.get_by_role("link", name="Newest").click()
    expect(events).to_have_count(100)


def test_an_administrator_verifies_the_record_and_holds_it_against_a_head(visit: Open, daemon: Daemon) -> None:
    page = visit("/audit")
    page.get_by_role("button", name="Verify the log").click()
    page.get_by_role("button", name="Verify", exact=True).click()
    told = page.get_by_role("status").filter(has_text="The audit log")
    expect(told).to_contain_text("The audit log is intact")
    head = told.locator("code").inner_text()
    assert daemon.get(f"/v1/audit/verify?head={head}").json["ok"]
    page.get_by_label("A head you stored").fill(head)
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(told).to_contain_text("The audit log is intact")
    page.get_by_label("A head you stored").fill(head.partition(":")[0] + ":" + "0" * 64)
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(told).to_contain_text("the log is not the one whose head was recorded")
    page.get_by_label("A head you stored").fill("nonsense")
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("'nonsense' is not a log head")


def test_a_member_reads_the_record_but_is_not_offered_to_verify_it(visit: Open, daemon: Daemon) -> None:
    name, _, value = identities.invite(daemon, "member").cookie.partition("=")
    page = visit("/sign-in", signed_in=False)
    page.context.add_cookies([{"name": name, "value": value, "url": daemon.url}])
    page.goto("/audit")
    expect(page.get_by_role("list", name="What happened")).to_be_visible()
    expect(page.get_by_role("button", name="Verify the log")).to_have_count(0)
