"""What a long history costs: the same requests with 1,000, 10,000, 100,000 and, on request, 1,000,000 executions.

The history is not run but written: rows of the shape that executions leave, in bulk and by the storage layer's own
tables and seals, into the data directory of a daemon that is stopped meanwhile.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.measures import Rows
from benchmarks.ours import Ours, bearer
from benchmarks.series import Series
from benchmarks.wire import Http, Mcp

SIZES = (1_000, 10_000, 100_000)
LARGEST = 1_000_000
BATCH = 20_000
PAUSED = 50
RARE = 10_000  # one of so many executions wrote something, and was asked about
BARS = "▁▂▃▄▅▆▇█"
DAY = 24 * 3600 * 1000
Request = Callable[[], Any]


def measure(folder: Path, address: str, *, quick: bool, full: bool, say: Callable[[str], None]) -> Rows:
    subject = Ours(folder)
    folder.mkdir(parents=True, exist_ok=True)
    subject.start()
    try:
        subject.connect(f"{address}/openapi.json")
        subject.execute_once(subject.home)
    finally:
        subject.stop()
    rows: Rows = {}
    present = 0
    for size in SIZES[:2] if quick else (*SIZES, LARGEST) if full else SIZES:
        say(f"growth: writing {size - present:,} executions")
        grow(subject.home / "data" / "executor.db", present, size)
        present = size
        say(f"growth: {size:,} executions")
        rows |= {f"{name}, {size:,} executions": series for name, series in measured(subject, 5 if quick else 40)}
    return rows


def measured(subject: Ours, amount: int) -> Iterator[tuple[str, Series]]:
    begin = time.perf_counter()
    subject.start()
    client = subject.client()
    subject.execute(client, "return 1+1", 2)
    yield "start", Series("ms", [(time.perf_counter() - begin) * 1000], processes.cpu_seconds(subject.pid) * 1000)
    operator = Http(subject.base_url, bearer(subject.home / "data" / "operator.token"))
    try:
        for name, request in requests(subject, client, operator).items():
            request()
            yield name, timed(subject.pid, request, amount)
        yield "audit verify", timed(subject.pid, lambda: operator.json("GET", "/v1/audit/verify"), 1)
        doctor = processes.run(subject.cli("doctor"), subject.environ(subject.home), cwd=subject.home)
        yield "doctor", Series("ms", [doctor.wall_seconds * 1000], doctor.cpu_seconds * 1000)
    finally:
        client.close()
        operator.close()
        subject.stop()


def requests(subject: Ours, client: Mcp, operator: Http) -> dict[str, Request]:
    def get(path: str) -> Request:
        return lambda: operator.json("GET", path)

    now = int(time.time() * 1000)
    ago = f"since={now - 20 * DAY}&until={now - 10 * DAY}"
    return {
        "execute 1+1": lambda: subject.execute(client, "return 1+1", 2),
        "list 50": get("/v1/executions"),
        "list 500": get("/v1/executions?limit=500"),
        "list paused": get("/v1/executions?status=paused"),
        "list failed or cancelled": get("/v1/executions?status=failed&status=cancelled"),
        "list by actor": get("/v1/executions?actor=agent"),
        "list by language": get("/v1/executions?language=python"),
        "list by time": get(f"/v1/executions?{ago}"),
        "list by rare tool": get("/v1/executions?tool=things.things.createThing"),
        "list by source": get("/v1/executions?tool=things"),
        "list by text not found": get("/v1/executions?text=nowhere-to-be-found"),
        "inbox": get("/v1/interactions?status=pending"),
        "decided approvals": get("/v1/interactions?status=approved"),
        "approvals of a source": get("/v1/interactions?source=things"),
        "dependents": get("/v1/sources/things/dependents"),
        "simulate": lambda: operator.json("POST", "/v1/policies/simulate", {}),
        "audit": get("/v1/audit"),
        "audit by rare type": get("/v1/audit?type=source.added"),
        "audit by types": get("/v1/audit?type=source.*"),
        "audit by time": get(f"/v1/audit?{ago}"),
        "events": get("/v1/events?limit=100"),
        "status": get("/v1/status"),
    }


def timed(pid: int, request: Request, amount: int) -> Series:
    series, before = Series("ms"), processes.cpu_seconds(pid)
    for _ in range(amount):
        begin = time.perf_counter()
        request()
        series.samples.append((time.perf_counter() - begin) * 1000)
    series.cpu_ms = (processes.cpu_seconds(pid) - before) * 1000
    return series


def grow(path: Path, present: int, size: int) -> None:
    """From `present` to `size` executions, spread over the last month, older ones first."""
    from executor.storage.executions.event_chain import seal

    c = sqlite3.connect(path, isolation_level=None)
    c.execute("PRAGMA synchronous=OFF")
    c.execute("PRAGMA foreign_keys=OFF")
    owner = dict(zip(("workspace", "actor", "source"), _owner(c), strict=True))
    before = c.execute("SELECT seal FROM chains").fetchone()[0]
    first = int(time.time() * 1000) - 30 * DAY
    for start in range(present, size, BATCH):
        numbers = range(start, min(size, start + BATCH))
        made = [_rows(number, first + number * (30 * DAY // LARGEST), owner) for number in numbers]
        events = [event for one in made for event in one["events"]]
        for event in events:
            before = event["seal"] = seal(before, event)
        c.execute("BEGIN")
        for table in ("executions", "calls", "interactions"):
            _insert(c, table, [row for one in made for row in one[table]])
        _insert(c, "events", events)
        c.execute("UPDATE chains SET seal = ?, event_id = (SELECT max(id) FROM events)", (before,))
        c.execute("COMMIT")
    c.close()


def _owner(c: sqlite3.Connection) -> tuple[str, str, str]:
    workspace, source = c.execute("SELECT workspace_id, id FROM sources").fetchone()
    agent = "SELECT id FROM actors WHERE workspace_id = ? AND kind = 'agent' ORDER BY id"
    return workspace, c.execute(agent, (workspace,)).fetchone()[0], source


def _insert(c: sqlite3.Connection, table: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        names = ", ".join(rows[0])
        places = ", ".join(f":{name}" for name in rows[0])
        c.executemany(f"INSERT INTO {table} ({names}) VALUES ({places})", rows)  # noqa: S608 - names of ours


def _rows(number: int, at: int, owner: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    here = {"workspace_id": owner["workspace"]}
    one = f"exec_{at:012x}{number:020x}"
    wrote, called = number % RARE == 7, number % 3 == 0
    status = "paused" if number < PAUSED else "failed" if number % 11 == 0 else "completed"
    python = number % 10 == 0
    execution = {
        **here,
        "id": one,
        "actor_id": owner["actor"],
        "language": "python" if python else "typescript",
        "runtime": "python" if python else "typescript",
        "code": f"const found = await tools.things.things.getThing({{id: {number}}})\nreturn found.name",
        "status": status,
        "seed": b"0" * 16,
        "clock_ms": at,
        "limits": LIMITS,
        "epoch": 1,
        "wall_ms": 3,
        "result": '"a thing"',
        "created_at": at,
        "updated_at": at,
        "finished_at": None if status == "paused" else at,
        "origin": "agent_token mcp",
    }
    call = {
        **here,
        "execution_id": one,
        "seq": 1,
        "kind": "tool",
        "path": "things.things.createThing" if wrote else "things.things.getThing",
        "arguments": f'{{"id":{number}}}',
        "arguments_digest": f"{number:064x}",
        "state": "proposed" if status == "paused" else "done",
        "effect": "write" if wrote else "read",
        "source_id": owner["source"],
        "schema_digest": "",
        "created_at": at,
    }
    asked = {
        **here,
        "id": f"int_{at:012x}{number:020x}",
        "execution_id": one,
        "call_seq": 1,
        "kind": "approval",
        "status": "pending" if status == "paused" else "approved",
        "binding": BINDING,
        "prompt": "{}",
        "created_at": at,
        "expires_at": at + 60 * DAY,
        "settled_by": "",
        "reason": "",
        "used": 0,
    }
    event = {**here, "execution_id": one, "at": at, "actor_id": owner["actor"], "origin": "", "data": "{}"}
    types = ("execution.queued", "execution.started", f"execution.{status}")
    return {
        "executions": [execution],
        "calls": [call] if called or wrote or status == "paused" else [],
        "interactions": [asked] if wrote or status == "paused" else [],
        "events": [{**event, "type": type, "seal": ""} for type in types],
    }


def _json(value: Any) -> str:
    from dataclasses import asdict

    import orjson

    return orjson.dumps(asdict(value)).decode()


def _limits() -> str:
    from executor.model.execution import Limits

    return _json(Limits())


def _binding() -> str:
    from dataclasses import fields

    from executor.model.interaction import Binding

    kinds = {"str": "", "int": 0, "bool": False}
    return _json(Binding(**{one.name: kinds.get(str(one.type), "") for one in fields(Binding)}))


LIMITS, BINDING = _limits(), _binding()


def plot(rows: Rows) -> str:
    """CPU per operation against the number of executions: a bar for each size, as high as its share of the largest."""
    by_name: dict[str, dict[str, float]] = {}
    for label, series in rows.items():
        name, _, size = label.removesuffix(" executions").rpartition(", ")
        if label.endswith(" executions") and series.cpu_per_operation is not None:
            by_name.setdefault(name, {})[size] = series.cpu_per_operation
    if not by_name:
        return ""
    sizes = list(next(iter(by_name.values())))
    lines = [f"CPU in ms per operation with {', '.join(sizes)} executions"]
    for name, costs in by_name.items():
        highest = max(costs.values()) or 1
        bars = "".join(BARS[round(cost / highest * (len(BARS) - 1))] for cost in costs.values())
        lines.append(f"{name:26} {bars}  {'  '.join(f'{cost:8.1f}' for cost in costs.values())}")
    return "\n".join(lines)
