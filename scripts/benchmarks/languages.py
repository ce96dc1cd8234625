"""The same programs in TypeScript and in Python, by turns on one daemon: 1+1, and reads one after the other."""

from __future__ import annotations

from typing import Any

from benchmarks import processes
from benchmarks.measures import CALLS, EXPECTED, Rows, milliseconds
from benchmarks.series import Series
from benchmarks.subject import Subject
from benchmarks.wire import Mcp, WireError, value_of

ROUNDS = 5
READ = "tools.things.things.getThing"
PROGRAMS: dict[str, dict[str, tuple[str, Any]]] = {
    "1+1": {"typescript": ("return 1+1", 2), "python": ("1+1", 2)},
    f"{CALLS} reads in a row": {
        "typescript": (
            f"let sum = 0; for (let i = 0; i < {CALLS}; i++) sum += (await {READ}({{id: i}})).id; return sum;",
            EXPECTED,
        ),
        "python": (f"sum = 0\nfor i in range({CALLS}):\n    sum += (await {READ}(id=i))['id']\nsum", EXPECTED),
    },
}


def measure(subject: Subject, amount: int) -> Rows:
    """`amount` executions of each a round; the CPU time is that of the daemon and everything under it."""
    client = subject.client()
    rows: Rows = {}
    for name, written in PROGRAMS.items():
        many = amount if name == "1+1" else max(1, amount // 20)
        for language, (code, expected) in written.items():
            execute(client, language, code, expected)  # starts what runs it
        for _ in range(ROUNDS):
            for language, (code, expected) in written.items():
                series = _round(subject, client, language, code, expected, many)
                rows.setdefault(f"{name} in {language}", Series("ms")).extend(series)
    client.close()
    return rows


def _round(subject: Subject, client: Mcp, language: str, code: str, expected: Any, amount: int) -> Series:
    before = processes.cpu_seconds(subject.pid)
    samples = [milliseconds(lambda: execute(client, language, code, expected)) for _ in range(amount)]
    return Series("ms", samples, (processes.cpu_seconds(subject.pid) - before) * 1000)


def execute(client: Mcp, language: str, code: str, expected: Any) -> None:
    answer = client.call("execute", {"code": code, "language": language})
    if value_of(answer) != expected:
        raise WireError(f"{language}: `{code[:80]}` gave {str(answer)[:1000]}")
