from __future__ import annotations

from typing import Any

from tests.surfaces.api.daemon_server import Daemon


def test_a_search_narrows_explains_and_browses(daemon: Daemon, shop: list[Any]) -> None:
    found = daemon.get("/v1/tools/search?query=add+a+thing+to+the+shop&depth=0", role="agent").json
    assert found["bestPath"] == "shop.things.createThing"
    assert set(found["items"][0]) == {"path", "description", "effect", "score", "matched"}
    reads = daemon.get("/v1/tools/search?query=thing&effect=read&source=shop", role="agent").json
    assert reads["items"] and all(item["effect"] == "read" for item in reads["items"])
    assert "shop" in daemon.get("/v1/tools/search", role="agent").json["groups"]
    unknown = daemon.get("/v1/tools/search?query=thing&namespace=shpo", role="agent").json
    assert "did you mean shop?" in unknown["hint"]


def test_a_denied_tool_is_hidden_from_code_and_from_the_api(daemon: Daemon, shop: list[Any]) -> None:
    before = daemon.execute('return (await tools.discover({query: "shop create thing", depth: 0})).bestPath')
    assert before["result"] == "shop.things.createThing"
    denial = daemon.post("/v1/policies", {"pattern": "shop.things.createThing", "action": "deny"}).json
    try:
        code = 'return (await tools.discover({query: "shop create thing", depth: 0})).items.map(i => i.path)'
        after = daemon.execute(code)
        assert after["status"] == "completed" and "shop.things.createThing" not in after["result"]
        found = daemon.get("/v1/tools/search?query=shop+create+thing&depth=0", role="agent").json
        assert "shop.things.createThing" not in [item["path"] for item in found["items"]]
        missing = daemon.get("/v1/tools/shop.things.createThin", role="agent").json
        assert "createThing" not in str(missing)
    finally:  # the daemon is shared
        daemon.request("DELETE", f"/v1/policies/{denial['id']}")
