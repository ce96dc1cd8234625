"""What is measured of a subject. Each measure gives one series a row; the names are those of `--only`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from benchmarks import official, processes
from benchmarks.series import Series
from benchmarks.subject import Start, Subject
from benchmarks.wire import Mcp

CLIENTS = 16
WARM_UP = 300
CALLS = 100
EXPECTED = sum(range(CALLS))

Rows = dict[str, Series]
Measuring = Callable[[Subject, int], Rows]


@dataclass(frozen=True)
class Measure:
    """`amount` operations a round; a round is short, so that subjects take turns on a machine whose load changes."""

    name: str
    run: Measuring
    amount: int
    quick: int
    rounds: int = 3
    warm: bool = False


def timed(subject: Subject, operation: Callable[[], object], amount: int) -> Series:
    operation()
    before = processes.cpu_seconds(subject.pid)
    samples = [milliseconds(operation) for _ in range(amount)]
    return Series("ms", samples, (processes.cpu_seconds(subject.pid) - before) * 1000)


def milliseconds(operation: Callable[[], object]) -> float:
    start = time.perf_counter()
    operation()
    return (time.perf_counter() - start) * 1000


def warm_up(subjects: Sequence[Subject]) -> None:
    """Once, long enough for a just-in-time compiler: its first hundred executions are twice as slow."""
    for subject in subjects:
        if subject.warm:
            continue
        client = subject.client()
        for _ in range(WARM_UP):
            subject.execute(client, "return 1+1", 2)
        for code in (SEQUENTIAL, PARALLEL) * 3:
            subject.execute(client, code.replace("READ", subject.read), EXPECTED)
        client.close()
        subject.warm = True


def execute_sequentially(subject: Subject, amount: int) -> Rows:
    client = subject.client()
    series = timed(subject, lambda: subject.execute(client, "return 1+1", 2), amount)
    client.close()
    return {"execute 1+1, one client": series}


def execute_with_clients(subject: Subject, amount: int) -> Rows:
    clients = [subject.client() for _ in range(CLIENTS)]

    def several(client: Mcp) -> list[float]:
        return [milliseconds(lambda: subject.execute(client, "return 1+1", 2)) for _ in range(amount)]

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda client: subject.execute(client, "return 1+1", 2), clients))
        before, start = processes.cpu_seconds(subject.pid), time.perf_counter()
        samples = [sample for part in pool.map(several, clients) for sample in part]
        wall = (time.perf_counter() - start) * 1000
        spent = (processes.cpu_seconds(subject.pid) - before) * 1000
    for client in clients:
        client.close()
    return {
        f"execute 1+1, {CLIENTS} clients": Series("ms", samples, spent),
        f"execute 1+1, {CLIENTS} clients, wall time each": Series("ms", [wall / len(samples)]),
    }


def tool_calls(label: str, code: str) -> Measuring:
    def run(subject: Subject, amount: int) -> Rows:
        client = subject.client()
        series = timed(subject, lambda: subject.execute(client, code.replace("READ", subject.read), EXPECTED), amount)
        client.close()
        return {label: series}

    return run


SEQUENTIAL = f"let sum = 0; for (let i = 0; i < {CALLS}; i++) sum += READ; return sum;"
PARALLEL = (
    f"const all = await Promise.all(Array.from({{length: {CALLS}}}, async (_, i) => READ));"
    "return all.reduce((sum, one) => sum + one, 0);"
)


def approve_to_completed(subject: Subject, amount: int) -> Rows:
    client = subject.client()
    waiting = [subject.park(client) for _ in range(amount + 1)]
    series = timed(subject, lambda: subject.approve(client, waiting.pop()), amount)
    client.close()
    return {"approve → completed": series}


def idle_memory(subject: Subject, amount: int) -> Rows:
    """With a source that was connected over the API, and of a daemon with nothing connected."""
    rows: Rows = {}

    def weigh(label: str, pid: int) -> None:
        rows[label] = Series("MB", [processes.settled_memory_bytes(pid) / 1e6])

    subject.execute_once(subject.home)
    weigh("memory of the idle daemon", subject.pid)
    official.execute_once(subject, subject.home)
    weigh("memory of the idle daemon, official MCP client", subject.pid)
    home = subject.fresh_home()
    with subject.another_daemon(home) as process:
        official.execute_once(subject, home)
        weigh("memory of the idle daemon, nothing connected, official MCP client", process.pid)
    return rows


def parked_memory(subject: Subject, amount: int) -> Rows:
    """Growth by `amount` executions that wait for approval, after enough of them to have grown the daemon's pools."""
    park(subject, 10 * CLIENTS)
    before = processes.settled_memory_bytes(subject.pid)
    park(subject, amount)
    growth = processes.settled_memory_bytes(subject.pid) - before
    return {f"memory of {amount:,} parked executions": Series("MB", [growth / 1e6])}


def park(subject: Subject, amount: int) -> None:
    clients = [subject.client() for _ in range(CLIENTS)]

    def several(client: Mcp) -> None:
        for _ in range(amount // CLIENTS):
            subject.park(client)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(several, clients))
    for client in clients:
        client.close()


def cold_start(subject: Subject, amount: int) -> Rows:
    """An answer to a health check may come long before the daemon is of use, so the first execution is timed too."""
    rows: Rows = {}
    home = subject.fresh_home()
    note(rows, "cold start, new data directory", subject.cold_start(home, Subject.execute_once))
    for _ in range(amount):
        note(rows, "cold start", subject.cold_start(home, Subject.execute_once))
        first = subject.cold_start(home, official.execute_once)
        executed = Series("ms", [first.executed * 1000], first.cpu_seconds * 1000)
        rows.setdefault("cold start: first execute, official MCP client", Series()).extend(executed)
    return rows


def note(rows: Rows, label: str, start: Start) -> None:
    answered = Series("ms", [start.answered * 1000])
    executed = Series("ms", [start.executed * 1000], start.cpu_seconds * 1000)
    rows.setdefault(f"{label}: health check answered", Series()).extend(answered)
    rows.setdefault(f"{label}: first execute", Series()).extend(executed)


def command_line(subject: Subject, amount: int) -> Rows:
    rows: Rows = {}
    for label, arguments in (("CLI --help", ("--help",)), ("CLI status", tuple(subject.status_arguments))):
        for number in range(amount + 1):
            spent = processes.run(subject.cli(*arguments), subject.environ(subject.home), cwd=subject.home)
            if number:
                one = Series("ms", [spent.wall_seconds * 1000], spent.cpu_seconds * 1000)
                rows.setdefault(label, Series()).extend(one)
    return rows


MEASURES = (
    Measure("memory", idle_memory, 1, 1, rounds=1),
    Measure("execute", execute_sequentially, 100, 50, warm=True),
    Measure("official", official.execute_sequentially, 100, 50, warm=True),
    Measure("clients", execute_with_clients, 30, 15, warm=True),
    Measure("sequential", tool_calls(f"{CALLS} tool calls, sequential", SEQUENTIAL), 7, 4, warm=True),
    Measure("parallel", tool_calls(f"{CALLS} tool calls, parallel", PARALLEL), 7, 4, warm=True),
    Measure("approve", approve_to_completed, 20, 10, warm=True),
    Measure("start", cold_start, 2, 1),
    Measure("cli", command_line, 8, 4),
    Measure("parked", parked_memory, 1000, 1000, rounds=1),
)
