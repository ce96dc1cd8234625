"""Looking for executions: each filter finds what it says, and nobody finds what is not theirs by any of them."""

from __future__ import annotations

import sqlite3
import time
from typing import Any
from urllib.parse import urlencode

import pytest

from executor.execution import history
from executor.storage import bounded_reads
from tests.support.cpu import cpu_seconds
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.api.identities import Caller

FAR = 4_000_000_000_000


def search(by: Caller | Daemon, **query: Any) -> list[Any]:
    answer = by.get(f"/v1/executions?{urlencode({'limit': 500, **query}, doseq=True)}")
    assert answer.status == 200, answer.body
    items: list[Any] = answer.json["items"]
    return items


def ids(items: list[Any]) -> set[str]:
    return {item["executionId"] for item in items}


@pytest.fixture(scope="module")
def executions(daemon: Daemon, shop: list[Any]) -> dict[str, str]:
    """One execution of each kind."""
    call = "return await tools.shop.things.listThings({})"
    runs = {
        "read": daemon.execute(f"{call} // needle-1"),
        "written": daemon.execute('return await tools.shop.things.createThing({name: "rug"})'),
        "python": daemon.execute("1 + 1  # needle-2", language="python"),
        "failed": daemon.execute("throw new Error('x')", role="operator"),
    }
    return {name: run["executionId"] for name, run in runs.items()}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"status": ["failed", "paused"]}, {"written", "failed"}),
        ({"status": "completed"}, {"read", "python"}),
        ({"language": "python"}, {"python"}),
        ({"runtime": "python"}, {"python"}),
        ({"actor": "operator"}, {"failed"}),
        ({"actor": "agent"}, {"read", "written", "python"}),
        ({"tool": "shop.things.listThings"}, {"read"}),
        ({"tool": "shop.*"}, {"read", "written"}),
        ({"tool": "shop", "status": "paused"}, {"written"}),
        ({"text": "needle-"}, {"read", "python"}),
        ({"since": FAR}, set()),
        ({"until": 1}, set()),
        ({"since": 1, "until": FAR}, {"read", "written", "python", "failed"}),
    ],
)
def test_a_filter_finds_what_it_says(daemon: Daemon, executions: dict[str, str], query: Any, names: set[str]) -> None:
    assert ids(search(daemon, **query)) & set(executions.values()) == {executions[name] for name in names}


def test_a_row_says_who_asked_through_what_and_how_many_calls_were_made(
    daemon: Daemon, executions: dict[str, str]
) -> None:
    rows = {row["executionId"]: row for row in search(daemon)}
    read, failed = rows[executions["read"]], rows[executions["failed"]]
    assert (read["actor"], read["through"], read["calls"]) == ("agent", "api", 1)
    assert (failed["actor"], failed["through"], failed["calls"]) == ("operator", "cli", 0)
    browser = identities.signed_in(daemon)
    shown = browser.post("/v1/executions", {"code": "return 1"}).json["executionId"]
    assert browser.get(f"/v1/executions/{shown}?include=code").json["through"] == "web"


def test_what_comes_over_mcp_says_so_also_in_the_record(daemon: Daemon) -> None:
    call = {"name": "execute", "arguments": {"code": "return 'by mcp'"}}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = daemon.post("/mcp", body, role="agent", headers=headers)
    assert answer.status == 200, answer.body
    [row] = search(daemon, text="by mcp")
    assert (row["actor"], row["through"]) == ("agent", "mcp")
    [event, *_] = daemon.get("/v1/audit?type=execution.created&limit=1").json["items"]
    assert event["origin"] == "agent_token 127.0.0.1 mcp"


@pytest.mark.parametrize(
    "query", ["status=odd", "since=-1", f"since={2**48}", "limit=0", "actor=nobody", f"text={'x' * 201}"]
)
def test_what_can_not_be_looked_for_is_refused(daemon: Daemon, query: str) -> None:
    assert daemon.get(f"/v1/executions?{query}").json["code"] == "invalid_request"


def test_who_may_not_read_everything_finds_only_their_own_by_every_filter(
    daemon: Daemon, executions: dict[str, str]
) -> None:
    other = identities.agent(daemon, "prying")
    mine = other.post("/v1/executions", {"code": "return 1 // needle-3"}).json["executionId"]
    assert ids(search(other)) == {mine}
    for query in (
        {"status": ["completed", "failed", "paused"]},
        {"language": "typescript"},
        {"runtime": "typescript"},
        {"text": "n"},
        {"since": 1},
        {"until": FAR},
        {"actor": "prying"},
    ):
        assert ids(search(other, **query)) == {mine}, query
    for query in ({"tool": "shop"}, {"text": "needle-1"}, {"language": "python"}, {"before": mine}):
        assert search(other, **query) == [], query


def test_who_may_not_read_everything_learns_of_no_other_actor(daemon: Daemon, executions: dict[str, str]) -> None:
    other = identities.agent(daemon, "asking")
    answers = [other.get(f"/v1/executions?actor={name}") for name in ("operator", "agent", "nobody", "act_1")]
    assert {(answer.status, answer.body) for answer in answers} == {(200, b'{"items":[],"next":null,"partial":false}')}
    keyed = identities.create_key(daemon, "execute")
    assert not ids(search(keyed, tool="shop")) & set(executions.values())


def test_another_workspace_finds_nothing_of_ours_by_any_filter(daemon: Daemon, executions: dict[str, str]) -> None:
    stranger = identities.stranger(daemon)
    agent = next(row["actorId"] for row in search(daemon) if row["executionId"] == executions["read"])
    for query in ({"tool": "shop"}, {"text": "needle"}, {"status": "completed"}, {"actor": agent}, {"since": 1}):
        assert search(stranger, **query) == [], query


def test_a_text_made_to_be_slow_to_look_for_is_not(daemon: Daemon) -> None:
    """`instr` in history._conditions: LIKE compares two hundred letters at each of a million places."""
    for _ in range(3):
        daemon.execute(f"return 1 // {'a' * 990_000}", typecheck="off")
    spent = {text: seconds(daemon, text) for text in ("z", "a" * 199 + "b")}
    assert spent["a" * 199 + "b"] < 10 * max(0.02, spent["z"]), spent


def seconds(daemon: Daemon, text: str) -> float:
    """Of computing; the rest of the daemon has nothing to do."""
    assert search(daemon, text=text) == []
    return cpu_seconds(lambda: search(daemon, text=text), time.process_time)


def test_a_search_that_takes_too_long_is_given_up(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Database.search`: the few readers are there for everybody."""
    monkeypatch.setattr(bounded_reads, "LOOK_STEPS", 1)
    monkeypatch.setattr(history, "SEARCH_SECONDS", -1)
    for query in ("text=x", "tool=shop"):
        assert daemon.get(f"/v1/executions?{query}").json["code"] == "busy"
    assert daemon.get("/v1/executions?status=completed").status == 200


def test_the_calls_of_an_execution_are_reported_as_heads_and_each_in_full(
    daemon: Daemon, executions: dict[str, str]
) -> None:
    path = f"/v1/executions/{executions['written']}"
    shown = daemon.get(f"{path}?include=heads,code").json
    [head] = shown["heads"]
    assert (head["seq"], head["state"], head["preview"]) == (1, "proposed", '{"name":"rug"}')
    assert not {"arguments", "result"} & head.keys()
    [call] = daemon.get(f"{path}/calls?seq=1").json["items"]
    assert call["arguments"] == {"name": "rug"}
    assert daemon.get(f"{path}/calls?seq=7").json["items"] == []
    assert daemon.get(f"{path}/calls?seq=1", role=identities.agent(daemon, "other").token).status == 404
    [asked] = daemon.get(f"/v1/interactions?executionId={executions['written']}").json["items"]
    assert asked["callSeq"] == 1


def test_events_of_an_execution_are_found_by_type(daemon: Daemon, executions: dict[str, str]) -> None:
    path = f"/v1/executions/{executions['read']}/events"
    types = [one["type"] for one in daemon.get(f"{path}?type=call.*&type=execution.completed").json["items"]]
    assert types == ["call.started", "call.succeeded", "execution.completed"]
    assert daemon.get(f"{path}?type=a%25").json["code"] == "invalid_request"


def test_a_replay_that_differs_tells_what_was_recorded_and_what_came_now(daemon: Daemon, shop: list[Any]) -> None:
    view = daemon.execute("return {a: 1, b: [await tools.shop.things.listThings({})].length}")
    path = f"/v1/executions/{view['executionId']}"
    assert daemon.post(f"{path}/replay").json == {"matches": True, "detail": "the same result", "difference": None}
    database = daemon.executor.settings.database_file
    with sqlite3.connect(database) as c:
        c.execute("update executions set result = '{\"a\":2}' where id = ?", (view["executionId"],))
    report = daemon.post(f"{path}/replay").json
    assert (report["matches"], report["detail"]) == (False, "the result differs")
    assert report["difference"] == {"call": None, "recorded": {"a": 2}, "replayed": {"a": 1, "b": 1}}
    with sqlite3.connect(database) as c:
        c.execute(
            "update calls set arguments = '{\"q\":1}', arguments_digest = 'x' where execution_id = ?",
            (view["executionId"],),
        )
    difference = daemon.post(f"{path}/replay").json["difference"]
    assert (difference["call"], difference["recorded"]["arguments"]) == (1, {"q": 1})
    assert difference["replayed"] == {"path": "shop.things.listThings", "arguments": {}}
