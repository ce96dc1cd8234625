"""MCP servers that never stop sending, over every transport: the daemon's memory stays bounded, and others are served.

Each server is polite until its tools are listed. What it got rid of since is counted by itself: a server that nobody
reads any more is stuck after some megabytes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from executor.errors import ToolError
from executor.model.source import Source
from executor.network.client import Egress
from executor.sources.mcp.kind import Limits, Mcp
from executor.sources.mcp.sessions.change_notices import READINGS, Changes
from executor.sources.source_request import Consent, SourceRequest
from tests.support import flood_servers
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon, Refused

SCRIPT = str(Path(flood_servers.__file__))
WATCH_SECONDS = 6.0
MOST_SENT = 200_000_000  # by one server; what a second of reading at full speed would take
MOST_GROWTH = 400_000_000  # of the daemon, with all servers of a transport at once


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    made = Daemon(tmp_path_factory.mktemp("hostile"), EXECUTOR_WORKERS="1", EXECUTOR_LOST_ANSWERS="error")
    made.start()
    made.post("/v1/policies", {"pattern": "*.work", "action": "allow"})
    yield made
    made.stop()


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    found = tmp_path / "counts"
    found.mkdir()
    return found


@pytest.fixture
def http(counts: Path) -> Iterator[str]:
    process = subprocess.Popen([sys.executable, SCRIPT, str(counts), "http"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.communicate()


def resident(daemon: Daemon) -> int:
    assert daemon.process is not None
    return int(psutil.Process(daemon.process.pid).memory_info().rss)


def count_sent(counts: Path) -> dict[str, int]:
    return {path.name: int(path.read_text()) for path in counts.iterdir() if not path.suffix}


def grown_while_watched(daemon: Daemon, counts: Path, before: int) -> int:
    """Until some server has sent what only an unbounded reader takes, or for a while."""
    ends, most = time.monotonic() + WATCH_SECONDS, 0
    while time.monotonic() < ends and max(count_sent(counts).values(), default=0) < MOST_SENT:
        most = max(most, resident(daemon) - before)
        time.sleep(0.05)
    return most


def add(daemon: Daemon, name: str, **body: Any) -> str:
    given = {"kind": "mcp", "namespace": name.replace("-", "_"), "consent": True, "inheritRules": True, **body}
    return str(daemon.request("POST", "/v1/sources", given, timeout=120)["id"])


def remove_all(daemon: Daemon) -> None:
    for source in daemon.get("/v1/sources")["items"]:
        daemon.request("DELETE", f"/v1/sources/{source['id']}", timeout=120)


def run(daemon: Daemon, code: str) -> Any:
    view = daemon.request("POST", "/v1/executions", {"code": code, "wait": 60}, timeout=90)
    assert view["status"] == "completed", view
    return view["result"]


def test_102_commands_that_never_stop_sending_and_never_read(daemon: Daemon, counts: Path) -> None:
    """Defence: `Allowance`, `Dispatcher`, and `Child.send`, which writes nothing before the last was taken."""
    modes = ["pings", "small", "requests", "notes", "answers", "line", "complaints"]
    before = resident(daemon)
    for mode in modes:
        add(daemon, mode, command=[sys.executable, SCRIPT, str(counts), "stdio", mode])
    wait_for(lambda: set(count_sent(counts)) == set(modes))
    grown = grown_while_watched(daemon, counts, before)
    assert max(count_sent(counts).values()) < MOST_SENT, count_sent(counts)
    assert grown < MOST_GROWTH
    assert run(daemon, "return 1 + 1") == 2
    remove_all(daemon)


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_102_streams_and_bodies_without_end(daemon: Daemon, http: str, counts: Path, transport: str) -> None:
    """Defence: `Body`, `beginning` and `MeteredStream` below everything that comes over HTTP."""
    modes = {
        "http": ["get405", "note500", "delete", "early", "comments", "spaces", "pings", "small", "requests", "notes"],
        "sse": ["sse-comments", "sse-pings", "sse-small", "sse-requests", "sse-notes", "sse-answers"],
    }[transport]
    before = resident(daemon)
    for mode in modes:
        add(daemon, mode, location=f"{http}/{mode}", options={"transport": transport})
    grown = grown_while_watched(daemon, counts, before)
    assert max(count_sent(counts).values()) < MOST_SENT, count_sent(counts)
    assert len(count_sent(counts)) >= len(modes) - 1
    assert run(daemon, "return 1 + 1") == 2
    remove_all(daemon)
    assert max(grown, resident(daemon) - before) < MOST_GROWTH


def test_102_answers_without_end_fail_their_call_and_no_other(daemon: Daemon, http: str, counts: Path) -> None:
    """Defence: the bounds of `Body`, the refusal of packed answers, and the deadline of a request."""
    modes = ["post500", "post200", "event", "packed", "headers"]
    before = resident(daemon)
    for mode in modes:
        add(daemon, mode, location=f"{http}/{mode}", options={"transport": "http"})
    calls = ", ".join(f"tools.{mode}.work({{}}).catch(e => e.code)" for mode in modes)
    codes = dict(zip(modes, run(daemon, f"return await Promise.all([{calls}])"), strict=True))
    assert codes["post200"] == codes["event"] == "result_too_large"
    assert all(isinstance(code, str) for code in codes.values()), codes
    assert max(count_sent(counts).values()) < MOST_SENT
    assert resident(daemon) - before < MOST_GROWTH
    remove_all(daemon)


def test_102_a_stream_that_ends_at_once_is_not_opened_again_at_once(daemon: Daemon, http: str, counts: Path) -> None:
    """Defence: `GuardedTransport._wait_for_turn`; the server asks to come back after 0 milliseconds."""
    add(daemon, "again", location=f"{http}/again", options={"transport": "http"})
    wait_for(lambda: count_sent(counts).get("again", 0) >= 2)
    began, first = time.monotonic(), count_sent(counts)["again"]
    while time.monotonic() < began + 3 and count_sent(counts)["again"] < first + 50:
        time.sleep(0.02)
    assert count_sent(counts)["again"] < first + 50
    remove_all(daemon)


async def test_102_an_answer_that_drips_fails_in_time(http: str) -> None:
    """Defence: the deadline of a request holds for its whole answer, not for each part."""
    kind = Mcp(Egress(), limits=Limits(call_seconds=2.0))
    request = SourceRequest(
        kind="mcp", location=f"{http}/drip", options={"transport": "http"}, consented=Consent(private_network=True)
    )
    loaded = await kind.load(request)
    source = Source("src_1", "ws_1", "mcp", loaded.namespace, loaded.name, loaded.config)
    with pytest.raises(ToolError) as late:
        await kind.invoke(source, loaded.tools[0], {}, "key")
    assert late.value.tool_code == "upstream_timeout"
    await kind.close()


async def test_102_a_flood_of_changes_is_read_a_bounded_number_of_times() -> None:
    """Defence: `Changes` passes on 20 pieces of news in a row, and then one in ten minutes."""
    heard: list[str] = []
    changes = Changes(heard.append, pause_seconds=0.0)
    for _ in range(1_000):
        changes.notify("src_flooding")
        changes.notify("src_other")
    assert heard.count("src_flooding") == heard.count("src_other") == READINGS
    changes.forget("src_flooding")
    changes.notify("src_flooding")
    assert heard.count("src_flooding") == READINGS + 1
    changes.close()


def test_103_an_address_for_messages_elsewhere_is_refused_with_its_reason(daemon: Daemon, http: str) -> None:
    """Defence: `sse.endpoint_named`."""
    with pytest.raises(Refused) as refused:
        add(daemon, "elsewhere", location=f"{http}/sse-elsewhere", options={"transport": "sse"})
    assert refused.value.problem["code"] == "egress_refused"
    assert "http://127.0.0.1:1" in refused.value.problem["detail"]


def test_103_a_listing_of_too_many_tools_on_one_page(daemon: Daemon, tmp_path: Path) -> None:
    """Defence: `list_tools` counts every page, also the last."""
    server = tmp_path / "many.py"
    server.write_text(MANY)
    for count, size in ((20_001, 1), (100_000, 1), (4, 9_000_000)):
        with pytest.raises(Refused) as refused:
            add(daemon, "many", command=[sys.executable, str(server), str(count), str(size)])
        assert "too many tools" in refused.value.problem["detail"], (count, size)


MANY = """
import json, sys
count, size = int(sys.argv[1]), int(sys.argv[2])
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
             "serverInfo": {"name": "many", "version": "1"}}
    elif m.get("method") == "tools/list":
        at = int(m.get("params", {}).get("cursor", 0))
        each = count if size == 1 else 1
        tool = lambda n: {"name": f"t{n}", "inputSchema": {"type": "object"}, "description": "d" * size}
        r = {"tools": [tool(at + n) for n in range(each)]}
        if at + each < count:
            r["nextCursor"] = str(at + each)
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""
