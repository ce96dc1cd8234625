"""`/metrics`: who may read it, what it says, and that neither sources nor the past make it larger."""

from __future__ import annotations

import json
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from executor.identity.local_tokens import METRICS_PREFIX
from executor.telemetry import metrics
from executor.telemetry.metric import MAX_SERIES, Counter, Histogram
from executor.telemetry.prometheus import name_of, render
from tests.support.plans import GROWING, recording
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon, running_upstream

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana" / "executor.json"
# Shown only once there is one: a webhook, a session.
LATER = {"executor_webhook_pending", "executor_session_processes"}


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("token") / "metrics.token"
    with os.fdopen(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600), "w") as token:
        token.write(METRICS_PREFIX + secrets.token_urlsafe(32))
    return file


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, token_file: Path) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon"), metrics_token_file=token_file) as daemon:
        yield daemon


def scrape(daemon: Daemon, role: str = "operator") -> dict[str, Any]:
    """As Prometheus reads it."""
    answer = daemon.get("/metrics", role=role)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return {family.name: family for family in text_string_to_metric_families(answer.body.decode())}


def value(found: dict[str, Any], sample: str, **labels: str) -> float:
    samples = [one for family in found.values() for one in family.samples if one.name == sample]
    return sum(one.value for one in samples if labels.items() <= one.labels.items())


def test_executions_calls_and_waits_are_counted(daemon: Daemon) -> None:
    before = scrape(daemon)
    with running_upstream() as (address, _):
        daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "shop"})
        assert daemon.execute("return await tools.shop.things.listThings({})")["status"] == "completed"
        assert daemon.execute("throw new Error('no')")["status"] == "failed"
        assert daemon.execute("return await tools.shop.nothing({})")["status"] == "failed"
        paused = daemon.execute('return await tools.shop.things.createThing({name: "lamp"})')
        during = scrape(daemon)
        assert value(during, "executor_interactions_pending", kind="approval") == 1
        assert value(during, "executor_interactions_oldest_age_seconds", kind="approval") >= 0
        daemon.post(f"/v1/interactions/{paused['interactions'][0]['id']}/approve")
        daemon.get(f"/v1/executions/{paused['executionId']}?wait=60")
    after = scrape(daemon)

    def grew(sample: str, **labels: str) -> float:
        return value(after, sample, **labels) - value(before, sample, **labels)

    assert grew("executor_executions_total", status="completed", runtime="typescript") == 2
    assert grew("executor_executions_total", status="failed") == 2
    assert grew("executor_executions_total", status="paused") == 1
    assert grew("executor_call_duration_seconds_count", kind="openapi", outcome="ok") == 2
    assert grew("executor_calls_admitted_total", verdict="ask") == 1
    assert grew("executor_interactions_settled_total", kind="approval", status="approved") == 1
    assert grew("executor_interaction_wait_duration_seconds_count", kind="approval") == 1
    assert grew("executor_database_commit_duration_seconds_count") > 0
    assert grew("executor_http_request_duration_seconds_count", surface="api", status="2xx") > 0
    assert value(after, "executor_interactions_pending") == 0
    assert value(after, "executor_workers", runtime="typescript") == 1
    assert value(after, "executor_workers_memory_bytes", runtime="typescript") > 1_000_000
    assert value(after, "process_cpu_seconds_total") > 0
    assert value(after, "process_resident_memory_bytes") > 1_000_000


def test_only_the_operator_and_the_token_for_metrics_may_read_them(daemon: Daemon, token_file: Path) -> None:
    token = token_file.read_text()
    assert scrape(daemon, token)
    assert daemon.get("/metrics", role="agent").status == 403
    assert daemon.get("/metrics", role=None).status == 401
    assert daemon.get("/metrics", role=METRICS_PREFIX + secrets.token_urlsafe(32)).status == 401
    key = daemon.post("/v1/keys", {"name": "reader", "scopes": ["read"]}).json
    assert daemon.get("/metrics", role=key["token"]).status == 403
    assert daemon.post("/metrics", {}, role=token).status == 405
    assert daemon.get("/metrics", role=token, headers={"Host": "elsewhere.example"}).status == 421
    assert daemon.get("/metrics", role=token, headers={"Origin": "https://elsewhere.example"}).status == 403


@pytest.mark.parametrize("path", ["/v1/status", "/v1/executions", "/v1/doctor"])
def test_the_token_for_metrics_opens_nothing_else(daemon: Daemon, token_file: Path, path: str) -> None:
    assert daemon.get(path, role=token_file.read_text()).status == 401
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert daemon.post("/mcp", message, role=token_file.read_text()).status == 401


def test_a_token_file_that_others_can_read_is_good_for_nothing(daemon: Daemon, token_file: Path) -> None:
    token_file.chmod(0o644)
    try:
        answer: Answer = daemon.get("/metrics", role=token_file.read_text())
        assert answer.status == 401 and str(token_file).encode() not in answer.body
    finally:
        token_file.chmod(0o600)


def test_the_series_of_a_metric_are_bounded_whatever_happens() -> None:
    counter, histogram = Counter("c", "", "help", ("code",)), Histogram("h", "s", "help", ("code",))
    for number in range(10 * MAX_SERIES):
        counter.add(f"code {number}")
        histogram.observe(0.1, f"code {number}")
    assert len(counter.family().values) == len(histogram.family().values) == MAX_SERIES + 1
    assert counter.family().values[("other",)] == 9 * MAX_SERIES


def test_no_label_can_break_the_format() -> None:
    counter = Counter("c", "", "a\nb\\", ("code",))
    counter.add('x"} 5\n# TYPE forged\\')
    [family] = text_string_to_metric_families(render([counter.family()]).decode())
    assert [one.labels for one in family.samples] == [{"code": 'x"} 5\n# TYPE forged\\'}]


def test_no_metric_has_an_id_or_a_name_for_a_label() -> None:
    labels = {label for metric in metrics.COUNTED for label in metric.labels}
    assert labels <= {
        "status", "runtime", "verdict", "kind", "outcome", "code", "surface", "provider", "agent", "signal",
        "mcp.method.name", "gen_ai.tool.name", "error.type", "gen_ai.operation.name", "gen_ai.provider.name",
        "gen_ai.request.model", "gen_ai.token.type",
    }  # fmt: skip


def test_a_scrape_reads_only_what_is_open(daemon: Daemon) -> None:
    """By the plans of its statements: an index finds the pending ones among any number, and nothing else is read."""
    scraped = []
    for _ in range(3):
        with recording(daemon.executor.database.engine) as recorded:
            scrape(daemon)
        scraped.append(recorded.statements)
    # The daemon's own upkeep may read meanwhile, once.
    always = scraped[0].keys() & scraped[1].keys() & scraped[2].keys()
    selected = {text: scraped[0][text] for text in always if text.startswith("SELECT")}
    read = {text: values for text, values in selected.items() if re.search("|".join(GROWING), text)}
    assert len(read) == 1
    with sqlite3.connect(daemon.executor.settings.database_file) as connection:
        for text, values in read.items():
            plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", values))
            assert "SEARCH interactions USING INDEX ix_interactions_status_expires_at (status=?)" in plan


def test_the_dashboard_shows_metrics_that_exist_and_every_one_of_them(daemon: Daemon) -> None:
    daemon.execute("return 1")
    shown = {name_of(metric.family()) for metric in metrics.COUNTED} | set(scrape(daemon)) | LATER
    known = {f"{name}{suffix}" for name in shown for suffix in ("", "_total", "_bucket", "_count", "_sum")}
    dashboard = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    used = set(re.findall(r"\b((?:executor|process|mcp|gen_ai)_\w+)(?=\{)", " ".join(queries)))
    assert len(queries) > 30 and used <= known
    families = {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in used}
    expected = {re.sub(r"_total$", "", name) for name in shown}
    assert expected - families == {"executor_build_info", "process_start_time_seconds"}
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
