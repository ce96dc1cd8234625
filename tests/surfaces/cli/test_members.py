"""Keys, agents, browsers, workspaces, members and invitations from a terminal."""

from __future__ import annotations

import re

from tests.surfaces.cli.conftest import Cli


def test_a_key_goes_alone_to_standard_output_and_works_until_it_is_revoked(shared: Cli) -> None:
    made = shared("keys", "create", "ci", "--scope", "read", "--days", "1")
    token = made.out.strip()
    assert re.fullmatch(r"exk_[\w-]{43}", token) and token not in made.err
    assert shared("executions", "list", "--json", EXECUTOR_TOKEN=token).code == 0
    refused = shared("call", "return 1", "--json", EXECUTOR_TOKEN=token)
    assert refused.json["error"]["code"] == "forbidden"
    [key] = [one for one in shared("keys", "list", "--json").json["items"] if one["name"] == "ci"]
    assert key["id"] in shared("keys", "list").out and token not in shared("keys", "list").out
    assert shared("keys", "revoke", key["id"]).out == f"revoked {key['id']}\n"
    assert shared("executions", "list", "--json", EXECUTOR_TOKEN=token).json["error"]["code"] == "unauthorized"


def test_an_agent_gets_a_token_of_its_own(shared: Cli) -> None:
    token = shared("agents", "create", "nightly").out.strip()
    assert shared("call", "return 1", "--json", EXECUTOR_TOKEN=token).json["result"] == 1
    names = [one["name"] for one in shared("agents", "list", "--json").json["items"]]
    assert names[:1] == ["agent"] and "nightly" in names
    [agent] = [one for one in shared("agents", "list", "--json").json["items"] if one["name"] == "nightly"]
    assert shared("agents", "revoke", agent["id"], "--json").json == {"revoked": agent["id"]}
    assert shared("call", "return 1", "--json", EXECUTOR_TOKEN=token).json["error"]["code"] == "unauthorized"


def test_login_prints_a_link_whose_secret_stands_behind_the_hash(shared: Cli) -> None:
    link = shared("login").out.strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/sign-in#exl_[\w-]{43}", link)
    assert not (shared.state_dir / "sign-in.html").exists(), "without a terminal nothing is opened"
    assert shared("login", "--json").json.keys() == {"url", "expiresAt"}
    assert shared("login", "--list", "--json").json == {"items": []}
    assert shared("login", "--end", "brs_nothing").code == 1


def test_web_prints_a_link_that_leads_to_the_page_asked_for(shared: Cli) -> None:
    address, _, token = shared("web", "/approvals?show=all").out.strip().partition("#")
    assert address.endswith("/sign-in?to=/approvals%3Fshow%3Dall")
    assert token.startswith("exl_")
    assert "?" not in shared("web", "--json").json["url"]
    refused = shared("web", "//elsewhere.example")
    assert refused.code == 2 and "starts with /" in refused.err


def test_the_browser_is_not_started_with_the_link_itself(shared: Cli) -> None:
    """Other users of the machine can see the arguments of a program."""
    import stat
    import webbrowser
    from unittest import mock

    from executor.settings import Settings
    from executor.surfaces.cli.browser import open_page

    browser = mock.create_autospec(webbrowser.BaseBrowser, instance=True)
    with mock.patch.object(webbrowser, "get", return_value=browser):
        settings = Settings.load(shared.environment)
        open_page(settings, "sign-in.html", "http://127.0.0.1:1/sign-in#exl_secret")
    [address] = browser.open.call_args.args
    page = settings.state_dir / "sign-in.html"
    assert address == page.as_uri() and "exl_secret" not in address
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert 'content="0;url=http://127.0.0.1:1/sign-in#exl_secret"' in page.read_text()
    page.unlink()


def test_commands_act_in_the_workspace_that_is_named(shared: Cli) -> None:
    place = shared("workspaces", "create", "lab", "--json").json
    there = {"EXECUTOR_WORKSPACE": place["id"]}
    ran = shared("call", "return 1", "--json", **there).json["executionId"]
    assert ran in shared("executions", "list", "--json", **there).out
    assert ran not in shared("executions", "list", "--json").out
    assert shared("workspaces", "rename", place["id"], "laboratory", "--json").json["name"] == "laboratory"
    assert "laboratory" in shared("workspaces", "list").out
    assert shared("status", "--json", EXECUTOR_WORKSPACE="ws_nothing").code == 1
    assert shared("executions", "list", EXECUTOR_WORKSPACE="a\nb").code == 2


def test_organizations_members_and_invitations(shared: Cli) -> None:
    made = shared("organizations", "create", "Acme", "--json").json
    there = {"EXECUTOR_WORKSPACE": made["id"]}
    organization = made["organization"]["id"]
    assert shared("organizations", "rename", organization, "Acme 2", **there).out == f"renamed {organization}: Acme 2\n"
    assert "Acme 2" in shared("organizations", "list").out
    [owner] = shared("members", "list", "--json", **there).json["items"]
    assert owner["role"] == "owner"
    assert shared("members", "role", owner["accountId"], "viewer", **there).code == 1
    assert shared("members", "remove", owner["accountId"], **there).code == 1
    url = shared("invitations", "create", "--role", "viewer", **there).out.strip()
    assert re.search(r"/invitation#exi_[\w-]{43}$", url)
    [invitation] = shared("invitations", "list", "--json", **there).json["items"]
    assert (invitation["role"], invitation["status"]) == ("viewer", "open")
    assert shared("invitations", "revoke", invitation["id"], **there).code == 0
    assert shared("invitations", "list", "--json", **there).json["items"][0]["status"] == "revoked"
