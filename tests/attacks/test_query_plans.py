"""No list, search, count or simulation reads more the longer the history is, with SQLite's statistics and without."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from executor.storage import integrity, scan, statistics
from tests.support.plans import costs, recording
from tests.surfaces.api.daemon_server import Daemon, running_daemon, running_upstream

# These keep a connection open, or leave the installation.
SKIPPED = ("/v1/doctor", "/v1/oauth", "/v1/auth", "/v1/oidc")
ROWS = 3_000


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("plans")) as running, running_upstream() as (address, _):
        added = running.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "shop"})
        assert added.status == 201, added.body
        running.execute("return await tools.shop.things.listThings({})", wait=60)
        running.execute("return 'x'.repeat(400000)", wait=60)
        running.execute("await tools.shop.things.createThing({name: 'a'})", wait=60)
        running.execute("console.log('a'); return 1", wait=60)
        yield running


@pytest.fixture(scope="module")
def statements(daemon: Daemon) -> dict[str, Any]:
    """Everything that the routes of `/v1` ask of the database, with every parameter and every pair of them."""
    with recording(daemon.executor.database.engine) as recorded:
        for path, parameters in sorted(routes(daemon)):
            for query in itertools.chain([()], *(itertools.combinations(parameters, size) for size in (1, 2))):
                daemon.get(f"{path}?{urlencode(dict(query))}")
        for body in ({}, {"before": "exec_~:0"}, {"before": "exec_~:9", "limit": 5}):
            assert daemon.post("/v1/policies/simulate", body).status == 200
        daemon.execute("return await tools.shop.things.listThings({})", wait=60)
        daemon.run(daemon.executor.contents.remove_left_over(daemon.executor.started_at))
    assert len(recorded.statements) > 60
    return recorded.statements


def routes(daemon: Daemon) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    known = samples(daemon)
    for template, methods in daemon.app.openapi()["paths"].items():
        if "get" not in methods or not template.startswith("/v1") or template.startswith(SKIPPED):
            continue
        declared = methods["get"].get("parameters", [])
        path = template.format(**{one["name"]: known.get(one["name"], ["x"])[0] for one in declared})
        named = [one for one in declared if one["in"] == "query"]
        yield path, [(one["name"], value) for one in named for value in choose_values(one, known)]


def choose_values(parameter: dict[str, Any], known: dict[str, list[str]]) -> list[str]:
    """Of a choice every value, else samples: a new parameter is asked for too, if only with something unknown."""
    schema = parameter["schema"]
    choices = [schema, schema.get("items", {}), *schema.get("anyOf", [])]
    listed = next((one["enum"] for one in choices if "enum" in one), None)
    return [str(value) for value in (listed or known.get(parameter["name"], ["1"]))]


def samples(daemon: Daemon) -> dict[str, list[str]]:
    last = daemon.get("/v1/executions?limit=1").json["items"][0]
    asked = daemon.get("/v1/interactions").json["items"][0]
    artifact = daemon.get("/v1/artifacts").json["items"][0]
    return {
        "execution_id": [last["executionId"]],
        "executionId": [last["executionId"]],
        "execution": [last["executionId"]],
        "interaction_id": [asked["id"]],
        "artifact_id": [artifact["id"]],
        "source": ["shop"],
        "actor": [last["actorId"]],
        "type": ["execution.*", "policy.added"],
        "tool": ["shop", "shop.things.listThings"],
        "text": ["return"],
        "until": [str(2**47)],
        "include": ["calls,heads,code"],
        "head": [""],
        "wait": ["0"],
    }


@pytest.fixture(scope="module", params=["without statistics", "with statistics", "with sampled statistics"])
def long_history(
    request: pytest.FixtureRequest, daemon: Daemon, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[sqlite3.Connection]:
    """A copy with a history in which one workspace, one actor and one tool have nearly everything."""
    path = tmp_path_factory.mktemp("grown") / "executor.db"
    with sqlite3.connect(daemon.executor.settings.database_file) as live:
        live.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    live.close()
    shutil.copy(daemon.executor.settings.database_file, path)
    copy = sqlite3.connect(path)
    for table, key in (("executions", "id"), ("calls", "execution_id"), ("interactions", "id"), ("artifacts", "id")):
        multiply(copy, table, key)
    multiply(copy, "events", None)
    if request.param != "without statistics":
        copy.execute(f"PRAGMA analysis_limit={400 if 'sampled' in request.param else 0}")
        copy.execute("ANALYZE")
    copy.commit()
    yield copy
    copy.close()


def multiply(copy: sqlite3.Connection, table: str, key: str | None) -> None:
    columns = [row[1] for row in copy.execute(f"PRAGMA table_info({table})")]
    fresh = {key: "printf('grown_%08d', n)"} if key else {"id": "NULL"}
    if table in ("interactions", "artifacts", "calls"):
        fresh["execution_id"] = "printf('grown_%08d', n)"
    values = ", ".join(fresh.get(name, f"one.{name}") for name in columns)
    copy.execute(
        f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS}) "  # noqa: S608
        f"INSERT INTO {table} ({', '.join(columns)}) "
        f"SELECT {values} FROM numbers, (SELECT * FROM {table} LIMIT 1) AS one"
    )


def test_no_route_asks_for_more_the_longer_the_history_is(
    statements: dict[str, Any], long_history: sqlite3.Connection
) -> None:
    found = {text: costs(long_history, text, values) for text, values in statements.items()}
    assert {text: faults for text, faults in found.items() if faults} == {}


def test_a_small_table_gets_no_statistics_that_would_mislead_once_it_has_grown(daemon: Daemon) -> None:
    daemon.run(daemon.executor.database.write(statistics.refresh))
    with sqlite3.connect(daemon.executor.settings.database_file) as c:
        assert c.execute("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'").fetchone() == (0,)
    c.close()


def test_the_check_at_a_start_samples_a_large_database_by_index(long_history: sqlite3.Connection) -> None:
    asked: list[str] = []
    long_history.set_trace_callback(asked.append)
    for table, index in integrity._tables(long_history):
        integrity._sample(long_history, table, index)
    long_history.set_trace_callback(None)
    plans = [
        row[3]
        for text in asked
        if text.startswith("SELECT")
        for row in long_history.execute(f"EXPLAIN QUERY PLAN {text}")
    ]
    assert len(plans) > 60
    assert not [step for step in plans if "TEMP B-TREE" in step]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM executions WHERE workspace_id = 'w' AND limits = 'x' ORDER BY created_at DESC LIMIT 50",
        "SELECT id FROM executions WHERE workspace_id = 'w' AND status IN ('paused', 'failed') ORDER BY id LIMIT 50",
        "SELECT execution_id, count(*) FROM calls WHERE workspace_id = 'w' GROUP BY execution_id",
        "SELECT count(*) FROM interactions WHERE workspace_id = 'w'",
        "SELECT * FROM events WHERE at > 5 ORDER BY id DESC LIMIT 10",
        "SELECT * FROM events WHERE workspace_id = 'w' AND type LIKE 'policy.%' ORDER BY at DESC LIMIT 10",
    ],
)
def test_a_list_without_an_index_is_found(long_history: sqlite3.Connection, statement: str) -> None:
    assert costs(long_history, statement, ())


def test_a_search_ends_at_its_bound_and_says_where_to_go_on(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SCANNED", 2)
    monkeypatch.setattr(scan, "BLOCK", 2)
    found, before, pages = [], "", 0
    while pages < 20:
        page = daemon.get(f"/v1/executions?text=createThing&before={before}").json
        found += page["items"]
        pages, before = pages + 1, page["next"] or ""
        if not before:
            break
        assert page["partial"] is (len(page["items"]) == 0 or page["partial"])
    assert pages > 1
    assert ["createThing" in one["preview"] for one in found] == [True]


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/v1/executions?", "executionId"),
        ("/v1/executions?status=completed&status=failed&status=paused", "executionId"),
        ("/v1/executions?tool=shop", "executionId"),
        ("/v1/interactions?", "id"),
        ("/v1/audit?type=execution.*", "id"),
        ("/v1/audit?since=1&until=9999999999999", "id"),
    ],
)
def test_pages_together_are_everything_once(daemon: Daemon, path: str, key: str) -> None:
    whole = [one[key] for one in daemon.get(f"{path}&limit=500").json["items"]]
    keys, before = [], None
    while before or not keys:
        page = daemon.get(f"{path}&limit=2" if before is None else f"{path}&limit=2&before={before}").json
        keys += [one[key] for one in page["items"]]
        before = page["next"]
    assert keys == whole == sorted(whole, reverse=True)
