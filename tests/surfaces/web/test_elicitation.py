"""What a server asks during a call is answered in the browser: a form made from its schema, or a page of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.sources.mcp.conftest import SERVERS, listening
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open

SECRETS = {
    "type": "object",
    "properties": {"apiKey": {"type": "string"}, "note": {"type": "string", "title": "<b>Note</b>"}},
}


@pytest.fixture(scope="module")
def eliciting(daemon: Daemon) -> Iterator[None]:
    with listening([sys.executable, str(SERVERS / "eliciting.py"), "http"]) as address:
        added = daemon.post("/v1/sources", {"location": f"{address}/mcp", "namespace": "travel"})
        assert added.status == 201, added.body
        daemon.post("/v1/policies", {"pattern": "travel.**", "action": "allow"})
        # Other tests of this package have added people, and then someone else would have to answer.
        assert daemon.request("PATCH", "/v1/separation", {"separation": "off"}).status == 200
        yield
        daemon.request("PATCH", "/v1/separation", {"separation": "default"})
        daemon.request("DELETE", "/v1/sources/travel")


def ask(daemon: Daemon, call: str) -> Any:
    path = f"/v1/executions/{daemon.execute(f'return await tools.travel.{call}')['executionId']}"
    return wait_for(lambda: (view := daemon.get(path).json)["status"] == "paused" and view)


def outcome(daemon: Daemon, view: Any) -> Any:
    return daemon.post(f"/v1/executions/{view['executionId']}/resume", {"wait": 60}).json


def test_a_form_is_made_from_the_schema_and_its_answer_reaches_the_server(
    daemon: Daemon, eliciting: None, visit: Open
) -> None:
    view = ask(daemon, 'book({message: "Who travels?\\nSay it here."})')
    page = visit(f"/approvals/{view['interactions'][0]['id']}")
    words = page.get_by_role("region", name="What the server asks")
    expect(words).to_contain_text("These are its words, not Executor's")
    expect(words.locator("blockquote")).to_have_text("Who travels?\nSay it here.")
    expect(page.get_by_label("seats")).to_have_value("2")
    page.get_by_role("button", name="Send answer").click()
    assert page.get_by_label("Your name").evaluate("field => field.validity.valueMissing")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("email").fill("ada@example.com")
    page.get_by_label("meal").select_option(label="Fish")
    page.get_by_label("class").select_option(label="First class")
    page.get_by_label("Sunday").check()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("Answered by you")).to_be_visible()
    result = outcome(daemon, view)["result"]
    for said in ("'name': 'Ada'", "'seats': 2", "'window': True", "'meal': 'f'", "'class': 'first'", "'days': ['sun']"):
        assert said in result


def test_an_answer_that_is_not_valid_is_explained_and_can_be_corrected(
    daemon: Daemon, eliciting: None, visit: Open
) -> None:
    schema = {"type": "object", "properties": {"when": {"type": "string", "format": "date-time"}}, "required": ["when"]}
    view = ask(daemon, f"raw({{schema: {json.dumps(schema)}}})")
    page = visit(f"/approvals/{view['interactions'][0]['id']}")
    page.get_by_label("when").fill("tomorrow")
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_role("alert")).to_contain_text("when: it is not a")
    page.get_by_label("when").fill("2026-01-02T03:04:05Z")
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("Answered by you")).to_be_visible()
    assert "2026-01-02T03:04:05Z" in outcome(daemon, view)["result"]


def test_a_form_that_asks_for_a_secret_carries_a_warning_and_shows_no_markup_of_the_server(
    daemon: Daemon, eliciting: None, visit: Open
) -> None:
    view = ask(daemon, f"raw({{schema: {json.dumps(SECRETS)}, message: '<img src=x>'}})")
    page = visit(f"/approvals/{view['interactions'][0]['id']}")
    expect(page.get_by_role("note").filter(has_text="apiKey")).to_contain_text("Don't enter passwords")
    expect(page.locator("blockquote")).to_have_text("<img src=x>")
    expect(page.get_by_label("<b>Note</b>")).to_be_visible()
    page.get_by_role("button", name="Decline").click()
    expect(page.get_by_text("Declined by you")).to_be_visible()
    assert outcome(daemon, view)["result"] == "decline"


def test_a_page_is_shown_with_its_whole_address_and_opens_only_on_a_click(
    daemon: Daemon, eliciting: None, visit: Open
) -> None:
    view = ask(daemon, 'visit({url: "https://login.example/start?state=1"})')
    page = visit(f"/approvals/{view['interactions'][0]['id']}")
    expect(page.get_by_text("https://login.example/start?state=1", exact=True)).to_be_visible()
    link = page.get_by_role("link", name="Open the page")
    assert link.get_attribute("href") == "https://login.example/start?state=1"
    assert link.get_attribute("rel") == "noopener noreferrer" and len(page.context.pages) == 1
    page.get_by_role("button", name="continue").click()
    expect(page.get_by_text("Answered by you")).to_be_visible()
    assert outcome(daemon, view)["result"] == "accept"


def test_dismissing_says_that_no_choice_was_made(daemon: Daemon, eliciting: None, visit: Open) -> None:
    view = ask(daemon, "book({})")
    page = visit(f"/executions/{view['executionId']}")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_text("It was dismissed without an answer")).to_be_visible()
    assert outcome(daemon, view)["result"] == "cancel"
