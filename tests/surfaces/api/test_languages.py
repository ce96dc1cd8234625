"""Language and runtime over `/v1`; and what Python costs a daemon that runs none."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.support.daemon import Daemon as Process
from tests.surfaces.api.daemon_server import Daemon


@pytest.mark.parametrize(
    ("given", "language", "runtime"),
    [
        ({}, "typescript", "typescript"),
        ({"language": "python"}, "python", "python"),
        ({"runtime": "python"}, "python", "python"),
        ({"language": "typescript", "runtime": "typescript"}, "typescript", "typescript"),
    ],
)
def test_an_execution_tells_its_language_and_what_runs_it(
    daemon: Daemon, given: dict[str, str], language: str, runtime: str
) -> None:
    view = daemon.execute("return 1 + 1", **given)
    assert (view["result"], view["language"], view["runtime"]) == (2, language, runtime)
    listed = daemon.get("/v1/executions?limit=1").json["items"][0]
    assert (listed["language"], listed["runtime"]) == (language, runtime)
    events = daemon.get(f"/v1/executions/{view['executionId']}/events").json["items"]
    assert (events[0]["data"]["language"], events[0]["data"]["runtime"]) == (language, runtime)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"runtime": "basement"}, "unknown_runtime"),
        ({"language": "python", "runtime": "typescript"}, "invalid_request"),
        ({"runtime": ""}, "unknown_runtime"),
        ({"runtime": 3}, "invalid_request"),
    ],
)
def test_what_fits_nothing_is_refused_with_its_reason(daemon: Daemon, given: dict[str, object], code: str) -> None:
    answer = daemon.post("/v1/executions", {"code": "1", **given})
    assert (answer.status, answer.json["code"]) == (400, code)
    assert answer.json["hint"]


def test_a_daemon_that_has_run_no_python_has_none_of_its_interpreter_loaded(tmp_path: Path) -> None:
    own = Process(tmp_path, EXECUTOR_WORKERS="1")
    own.start()
    try:
        assert own.post("/v1/executions", {"code": "return 1"})["result"] == 1
        assert not has_loaded_python(own)
        assert own.post("/v1/executions", {"code": "1 + 1", "language": "python"})["result"] == 2
        assert has_loaded_python(own)
    finally:
        own.stop()


def has_loaded_python(daemon: Process) -> bool:
    """In the daemon's process, or in one under it."""
    assert daemon.process is not None
    family = [daemon.process.pid, *(one.pid for one in psutil.Process(daemon.process.pid).children(recursive=True))]
    return any("runtime.python" in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8") for pid in family)
