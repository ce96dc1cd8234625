"""Secrets of every kind go through every feature, failure, a crash and a backup; then all is searched for them."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.canaries import Canaries
from tests.support.canary_run import TOKEN_FILES, Run, running
from tests.support.echo_service import MODES


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with running(tmp_path_factory.mktemp("canary")) as run:
        yield run


def test_every_credential_arrived_where_it_belongs(run: Run) -> None:
    """Without this the rest would show nothing: the service got each of them, in every mode."""
    told = json.dumps(run.service.seen).encode() + json.dumps(run.login.seen).encode()
    got = run.canaries.found(told)
    wanted = {"store", "query key", "cookie", "keyring", "environment", "static header", "static bearer"}
    assert wanted <= got and "store, before rotation" not in got
    assert {one["path"].split("/")[1] for one in run.service.calls} == set(MODES)
    assert {"access token 0", "access token 1"} <= got
    assert any(b"unknown_outcome" in body for body in run.answers.values())
    assert len(run.canaries.values) > 25


def test_24_nothing_in_the_files_of_a_daemon_that_crashed_nor_in_its_backups(run: Run) -> None:
    """24, 25: database, WAL, logs at the level debug, output. Defence: `Sealing.seal`, digests of what callers show."""
    for folder in ("data", "state", "backup of a running daemon", "backup after the crash"):
        hits = run.canaries.in_files(run.root / folder)
        allowed = {name: {name.replace(".", " ")} for name in TOKEN_FILES}
        assert {name: names for name, names in hits.items() if names != allowed.get(name)} == {}, folder
    assert run.canaries.found(run.daemon.log.read_bytes()) == set()
    assert sum(path.stat().st_size for path in (run.root / "data").glob("executor.db*")) > 100_000
    assert run.canaries.in_rows(run.root / "data" / "executor.db") == {}
    assert run.canaries.in_rows(run.root / "backup after the crash" / "executor.db") == {}


def test_19_the_log_was_written_at_the_level_debug(run: Run) -> None:
    """19: and says something of what happened, so that its search means something."""
    logged = b"".join(path.read_bytes() for path in run.root.rglob("*.log*"))
    assert b'"level": "debug"' in logged


def test_18_nothing_in_any_answer_to_anybody(run: Run) -> None:
    """18, 19, 22, 23: results, failures, approvals, events and the audit.

    Defence: `clean` and `handle_failure` of `CallCredential`.
    """
    hits = {name: found for name, body in run.answers.items() if (found := run.canaries.found(body))}
    assert hits == {}
    assert sum(b"[redacted]" in body for body in run.answers.values()) > 40
    assert len(run.answers["GET /v1/audit/export"].splitlines()) > 50


def test_nothing_in_any_span_or_metric(run: Run) -> None:
    """And there were many, of calls that carried every one of them. Defence: `NAMES` in `telemetry/attributes.py`."""
    assert len(run.exported.spans) > 300 and run.exported.metrics
    assert any(one.name.startswith("execute_tool ") for one in run.exported.spans)
    assert run.canaries.found(run.exported.everything) == set()
    names = "".join(one.name for one in run.exported.spans)
    assert run.canaries.found(names.encode()) == set()


def test_63_nothing_in_the_memory_arguments_or_environment_of_what_runs_code(run: Run) -> None:
    """19, 63: what a core dump of a sandbox would hold. Defence: results are redacted before they are sent to it."""
    assert run.memory and not any(run.memory.values())
    hits = {name: found for name, data in run.children.items() if (found := run.canaries.found(data))}
    assert hits == {}


def test_the_search_finds_what_is_there(run: Run, tmp_path: Path) -> None:
    """In each of the writings, in a file, and in the memory of a process."""
    planted = Canaries()
    value = planted.new("planted")
    here = os.getpid()
    assert planted.in_memory(here) == {"planted"}
    for number, text in enumerate((value, quote(value, safe=""), value.encode().hex(), json.dumps({"a": value}))):
        (tmp_path / str(number)).write_text(f"before {text} after")
    (tmp_path / "base64").write_bytes(base64.b64encode(b"ann:" + value.encode()))
    assert set(planted.in_files(tmp_path)) == {"0", "1", "2", "3", "base64"}
