"""Toolkits on the command line."""

from __future__ import annotations

from tests.surfaces.api.daemon_server import running_upstream
from tests.surfaces.cli.conftest import Cli


def test_a_toolkit_is_added_shown_changed_and_removed(shared: Cli) -> None:
    with running_upstream() as (address, _):
        assert shared("sources", "add", f"{address}/openapi.json", "--namespace", "kits").code == 0
        added = shared("toolkits", "add", "desk", "kits.**", "--deny", "kits.things.nothing", "--name", "The desk")
        assert added.code == 0 and "created desk: 2 tools" in added.out
        assert "warning: no tool matches kits.things.nothing" in added.err and "/mcp/toolkits/desk" in added.err
        assert "kits.things.listThings" in shared("toolkits", "tools", "desk").out
        edited = shared("toolkits", "edit", "desk", "--ask", "kits.**", "--pass-through", "kits.*.listThings", "--json")
        assert [one["action"] for one in edited.json["policies"]] == ["require_approval"], edited.err
        assert (edited.json["name"], edited.json["exposed"]) == ("The desk", 1)
        assert "kits_things_listThings" in shared("toolkits", "tools", "desk").out
        assert "kits.** → require_approval" in shared("toolkits", "show", "desk").out
        cleared = shared("toolkits", "edit", "desk", "--no-policies", "--no-pass-through", "--json").json
        assert (cleared["policies"], cleared["passThrough"]) == ([], [])
        assert "desk" in shared("toolkits", "list").out
        created = shared("toolkits", "keys", "create", "desk", "desk-bot")
        assert created.out.startswith("exa_") and "/mcp/toolkits/desk" in created.err
        [key] = shared("toolkits", "keys", "list", "desk", "--json").json["items"]
        assert shared("toolkits", "keys", "revoke", "desk", key["id"]).code == 0
        taken = shared("toolkits", "add", "desk", "**")
        assert taken.code != 0 and "already a toolkit" in taken.err
        assert shared("toolkits", "remove", "desk").code == 0
        assert "no toolkits yet" in shared("toolkits", "list").err
        assert shared("sources", "remove", "kits").code == 0


def test_a_client_is_connected_to_a_toolkit_alone(shared: Cli) -> None:
    shared("toolkits", "add", "narrow", "**")
    printed = shared("connect", "cursor", "--toolkit", "narrow", "--print", "--json")
    assert printed.json["agent"] == "cursor-narrow" and '"--toolkit", "narrow"' in printed.json["text"], printed.err
    over_http = shared("connect", "cursor", "--toolkit", "narrow", "--http", "--print", "--json").json["text"]
    assert "/mcp/toolkits/narrow" in over_http
    agents = shared("agents", "list", "--json").json["items"]
    agent = next(one for one in agents if one["name"] == "cursor-narrow")
    assert agent["toolkitId"] == shared("toolkits", "show", "narrow", "--json").json["id"]
    refused = shared("connect", "cursor", "--agent", "cursor-narrow", "--print")
    assert refused.code != 0 and "toolkit" in refused.err
    assert shared("connect", "cursor", "--toolkit", "nothing", "--print").code != 0
    shared("toolkits", "remove", "narrow")
