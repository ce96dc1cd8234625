"""`kill -9` at random points, many times: nothing lost, nothing done twice, nothing wrong.

Executions make sequential and nested parallel calls and need an approval, against an upstream that counts its effects
in a process of its own. The daemon and its sandbox workers are killed at random while the executions run.
"""

from __future__ import annotations

import collections
import os
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.daemon import DOWN, Daemon, Refused
from tests.support.ledger import effects, running_ledger

KILLS = int(os.environ.get("CHAOS_KILLS", "100"))
AT_ONCE = 10
SEED = int(os.environ.get("CHAOS_SEED", str(random.SystemRandom().randrange(2**32))))

CODE = """
const tag = %r;
const write = (key) => tools.ledger.entries.addEntry({key: `${tag}:${key}`})
  .then((e) => e.key, (e) => { if (e.code !== "unknown_outcome") throw e; return `unknown ${tag}:${key}`; });
const out = [];
out.push((await tools.ledger.charges.charge({key: `${tag}:charge`})).key);
out.push((await tools.ledger.entries.listEntries({key: `${tag}-read`})).key);
out.push(await write("first"));
out.push(await Promise.all([0, 1, 2, 3].map(async (branch) => {
  const one = branch %% 2
    ? await write(`${branch}.one`)
    : (await tools.ledger.charges.charge({key: `${tag}:${branch}.one`})).key;
  const two = await write(`${branch}.two`);
  return [one, two];
})));
out.push(await tools.ledger.transfers.transfer({key: `${tag}:approved`})
  .then((e) => e.key, (e) => { if (e.code !== "unknown_outcome") throw e; return `unknown ${tag}:approved`; }));
out.push(await write("last"));
return out;
"""
PYTHON = """
import asyncio
tag = %r
async def write(key, tool=None):
    try:
        return (await (tool or tools.ledger.entries.addEntry)(key=f"{tag}:{key}"))["key"]
    except ToolError as error:
        if error.code != "unknown_outcome":
            raise
        return f"unknown {tag}:{key}"
async def charge(key):
    return (await tools.ledger.charges.charge(key=f"{tag}:{key}"))["key"]
async def run_branch(number):
    one = await (write if number %% 2 else charge)(f"{number}.one")
    return [one, await write(f"{number}.two")]
out = [await charge("charge")]
out.append((await tools.ledger.entries.listEntries(key=f"{tag}-read"))["key"])
out.append(await write("first"))
async with asyncio.TaskGroup() as group:
    branches = [group.create_task(run_branch(number)) for number in range(4)]
out.append([branch.result() for branch in branches])
out.append(await write("approved", tools.ledger.transfers.transfer))
out.append(await write("last"))
out
"""
CODES = {"typescript": CODE, "python": PYTHON}
UNSAFE = ["first", "1.one", "3.one", "0.two", "1.two", "2.two", "3.two", "approved", "last"]
IDEMPOTENT = ["charge", "0.one", "2.one"]


def result_lines(result: Any) -> Iterator[str]:
    if isinstance(result, list):
        for part in result:
            yield from result_lines(part)
    else:
        yield result


class Human:
    """Approves what is asked, and answers `unknown_outcome` with a denial; counts what it was asked."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.unknown: set[str] = set()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def work(self) -> None:
        while not self.ended.wait(0.1):
            try:
                for asked in self.daemon.get("/v1/interactions?status=pending&limit=50")["items"]:
                    self.decide(asked)
            except (*DOWN, Refused):
                continue

    def decide(self, asked: dict[str, Any]) -> None:
        if asked["kind"] == "unknown_outcome":
            self.unknown.add(f"{asked['executionId']} {asked['arguments']['key']}")
            self.daemon.post(f"/v1/interactions/{asked['id']}/deny", {"reason": "not sure"})
        else:
            self.daemon.post(f"/v1/interactions/{asked['id']}/approve", {})


class Killer:
    """Half of the kills hit the daemon, the others one of its workers."""

    def __init__(self, daemon: Daemon, chance: random.Random) -> None:
        self.daemon = daemon
        self.chance = chance
        self.kills = collections.Counter[str]()

    def strike(self) -> None:
        time.sleep(self.chance.uniform(0.02, 0.7))
        if self.chance.random() < 0.5 and self.kill_worker():
            return
        self.daemon.kill()
        self.kills["daemon"] += 1
        self.daemon.start()

    def kill_worker(self) -> bool:
        assert self.daemon.process is not None
        try:
            workers = psutil.Process(self.daemon.process.pid).children()
        except psutil.NoSuchProcess:
            return False
        if not workers:
            return False
        os.kill(self.chance.choice(workers).pid, signal.SIGKILL)
        self.kills["worker"] += 1
        return True


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    file = tmp_path / "effects"
    with running_ledger(file, milliseconds=15) as address:
        yield address, file


@pytest.fixture
def daemon(tmp_path: Path, upstream: tuple[str, Path]) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    daemon.start()
    try:
        daemon.add_source({"location": f"{upstream[0]}/openapi.json", "namespace": "ledger"})
        daemon.post("/v1/policies", {"pattern": "ledger.entries.*", "action": "allow"})
        daemon.post("/v1/policies", {"pattern": "ledger.charges.*", "action": "allow"})
        yield daemon
    finally:
        daemon.stop()


def submit(daemon: Daemon, tag: str, runtime: str) -> str | None:
    """None when the daemon died under the request: then nobody was told that it was accepted."""
    try:
        answer = daemon.post("/v1/executions", {"code": CODES[runtime] % tag, "runtime": runtime, "wait": 0})
    except DOWN:
        return None
    return str(answer["executionId"])


def statuses(daemon: Daemon, ids: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    before = ""
    while True:
        page = daemon.get(f"/v1/executions?limit=100{before}")
        found |= {item["executionId"]: item["status"] for item in page["items"]}
        if not page["next"]:
            return {key: value for key, value in found.items() if key in ids}
        before = f"&before={page['next']}"


@pytest.mark.chaos
@pytest.mark.parametrize("runtime", CODES)
def test_kills_at_random_points_lose_nothing_double_nothing_and_falsify_nothing(
    daemon: Daemon, upstream: tuple[str, Path], runtime: str
) -> None:
    print(f"CHAOS_SEED={SEED}")
    killer, human = Killer(daemon, random.Random(SEED)), Human(daemon)
    human.thread.start()
    accepted: dict[str, str] = {}
    count = 0
    while sum(killer.kills.values()) < KILLS:
        states = statuses(daemon, set(accepted))
        open_now = sum(1 for status in states.values() if status not in ("completed", "failed"))
        for _ in range(AT_ONCE - open_now):
            count += 1
            if execution_id := submit(daemon, f"x{count}", runtime):
                accepted[execution_id] = f"x{count}"
        killer.strike()
    wait_for_all(daemon, set(accepted))
    human.ended.set()
    human.thread.join()
    report = judge(daemon, accepted, upstream[1], human)
    print(f"kills {dict(killer.kills)}, executions {len(accepted)}, {report}")


def wait_for_all(daemon: Daemon, ids: set[str], seconds: float = 180.0) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        states = statuses(daemon, ids)
        assert set(states) == ids, f"lost: {ids - set(states)}"
        if all(status in ("completed", "failed") for status in states.values()):
            return
        time.sleep(0.2)
    raise AssertionError(f"never ended: { {key: status for key, status in states.items() if status != 'completed'} }")


def log_of(daemon: Any, error: Any) -> list[str]:
    """What the daemon wrote down about an internal error: the files are gone when someone reads of it."""
    incident = re.search(r"err_\w+", str(error))
    file = getattr(daemon, "state_dir", Path()) / "daemon.log"
    lines = file.read_text(errors="replace").splitlines() if incident and file.is_file() else []
    return [line[:6000] for line in lines if incident and incident[0] in line]


def judge(daemon: Daemon, accepted: dict[str, str], file: Path, human: Human) -> dict[str, int]:
    counts = collections.Counter(effects(file))
    seen = collections.Counter(key for (_, key), times in counts.items() for _ in range(times))
    doubled = {key: times for key, times in seen.items() if times > 1}
    assert doubled == {}
    report = {"calls": 0, "unknown": 0}
    for execution_id, tag in accepted.items():
        view = daemon.get(f"/v1/executions/{execution_id}")
        assert view["status"] == "completed", (view["error"], log_of(daemon, view["error"]))
        values = list(result_lines(view["result"]))
        check_values(values, tag, execution_id, seen, human)
        report["calls"] += len(values)
        report["unknown"] += sum(1 for value in values if value.startswith("unknown"))
        assert daemon.post(f"/v1/executions/{execution_id}/replay")["matches"]
    return report


def check_values(values: list[str], tag: str, execution_id: str, seen: collections.Counter[str], human: Human) -> None:
    """A told success happened exactly once; what is unknown was asked of the human; everything is in its place."""
    expected = [f"{tag}:charge", f"{tag}-read", f"{tag}:first"]
    expected += [f"{tag}:{branch}.{step}" for branch in range(4) for step in ("one", "two")]
    expected += [f"{tag}:approved", f"{tag}:last"]
    assert [value.removeprefix("unknown ") for value in values] == expected
    for value in values:
        if value.startswith("unknown"):
            key = value.removeprefix("unknown ")
            assert key.partition(":")[2] in UNSAFE
            assert f"{execution_id} {key}" in human.unknown
        elif ":" in value:
            assert seen[value] == 1, f"{value} was told as done, but happened {seen[value]} times"
    assert all(seen[f"{tag}:{key}"] == 1 for key in IDEMPOTENT)
