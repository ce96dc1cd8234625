"""Text of strangers is text, on every page: no markup comes alive, and nothing invisible stays so."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.api.serving import Daemon
from tests.web.conftest import Open
from tests.web.hostile import MARKUP

CODE = (
    f"console.log({MARKUP!r}); const a = await tools.evil.hostile.echo({{q: {MARKUP!r}}}); throw new Error({MARKUP!r})"
)


def unharmed(page: Any) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, script:not([src])").count() == 0


@pytest.fixture
def attacked(daemon: Daemon, hostile: str) -> Any:
    """An execution that logs, calls, gets and fails with markup."""
    return daemon.execute(CODE)


def test_an_execution_shows_markup_of_code_log_arguments_results_and_errors(visit: Open, attacked: Any) -> None:
    page = visit(f"/executions/{attacked['executionId']}?tab=calls&call=1")
    expect(page.get_by_role("region", name="Error")).to_contain_text(MARKUP)
    expect(page.get_by_text(f'text: "{MARKUP}"', exact=False).first).to_be_visible()
    unharmed(page)
    page.goto(f"/executions/{attacked['executionId']}?tab=log")
    expect(page.get_by_role("region", name="Log")).to_contain_text(MARKUP)
    unharmed(page)
    page.goto(f"/executions/{attacked['executionId']}?tab=events")
    expect(page.get_by_role("tabpanel")).to_contain_text("onerror")
    unharmed(page)


def test_a_source_shows_markup_of_its_document(visit: Open, daemon: Daemon, hostile: str) -> None:
    for path in ("/", "/sources/evil?tool=evil.hostile.echo", "/sources/evil?tool=evil.hostile.echo&tab=try"):
        page = visit(path)
        expect(page.locator("main")).to_contain_text("<img src=x onerror=")
        unharmed(page)


def test_an_approval_shows_turned_and_invisible_characters_by_their_number(
    visit: Open, daemon: Daemon, hostile: str
) -> None:
    view = daemon.execute(r'return await tools.evil.hostile.create({body: {note: "pay\u202e001\u202c\u200b", m: 1}})')
    if view["status"] != "paused":
        view = daemon.execute("return await tools.evil.hostile.create({})")
    page = visit(f"/approvals/{view['interactions'][0]['id']}")
    question = page.get_by_role("article")
    expect(question).to_contain_text("safe\\u{202e}gnp.exe")
    assert "\u202e" not in question.inner_text()
    unharmed(page)


def test_a_hostile_address_is_only_text(visit: Open) -> None:
    page = visit(f"/sources/{'%3Cimg%20src=x%20onerror=%22window.hacked=1%22%3E'}?q=%3Cscript%3E&tool=%3Cimg%3E")
    expect(page.get_by_role("alert").first).to_be_visible()
    unharmed(page)
