"""What telemetry costs: the same work on a daemon that exports nothing and on one that exports everything, by turns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import processes
from benchmarks.measures import CALLS, EXPECTED, SEQUENTIAL, Rows, timed, warm_up
from benchmarks.ours import Ours
from benchmarks.series import Series
from benchmarks.wire import Http, Mcp

RECEIVER = Path(__file__).parents[2] / "deploy" / "otel" / "print_spans.py"
ROUNDS, AMOUNT = 5, 300
WORK: dict[str, tuple[str, int, float]] = {
    "return 1+1": ("return 1+1", 2, 1.0),
    f"{CALLS} calls": (SEQUENTIAL, EXPECTED, 0.02),  # so many of them, for one of the others
}


class Traced(Ours):
    receiver = ""

    def environ(self, home: Path) -> dict[str, str]:
        where = {"EXECUTOR_TELEMETRY": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": self.receiver}
        return super().environ(home) | where


def measure(folder: Path, address: str, *, quick: bool, say: Callable[[str], None]) -> Rows:
    rows: Rows = {}
    with ExitStack() as stack:
        plain, traced = Ours(folder / "off"), Traced(folder / "otlp")
        traced.receiver = stack.enter_context(running_receiver())
        for subject in (plain, traced):
            subject.folder.mkdir(parents=True)
            stack.callback(subject.stop)
            subject.start()
            subject.connect(f"{address}/openapi.json")
        warm_up((plain, traced))
        for number in range(2 if quick else ROUNDS):
            say(f"telemetry: round {number + 1}")
            for subject, label in ((plain, "off"), (traced, "otlp")):
                client = subject.client()
                for work, series in run_work(subject, client, 30 if quick else AMOUNT):
                    rows.setdefault(f"{work}, telemetry {label}", Series()).extend(series)
                rows.setdefault(f"scrape of /metrics, telemetry {label}", Series()).extend(scrape(subject))
                client.close()
    return rows


def run_work(subject: Ours, client: Mcp, amount: int) -> Iterator[tuple[str, Series]]:
    for work, (code, expected, share) in WORK.items():
        whole = code.replace("READ", subject.read)
        yield work, timed(subject, lambda: subject.execute(client, whole, expected), max(1, int(amount * share)))  # noqa: B023


def scrape(subject: Ours) -> Series:
    return timed(subject, lambda: subject.operator.request("GET", "/metrics"), 20)


@contextmanager
def running_receiver() -> Iterator[str]:
    port = processes.free_port()
    process = subprocess.Popen([sys.executable, str(RECEIVER), str(port)], stdout=subprocess.DEVNULL)
    try:
        where = f"http://127.0.0.1:{port}"
        processes.wait_until(lambda: answers(where), limit=60.0, what="the receiver")
        yield where
    finally:
        processes.end(process)


def answers(where: str) -> bool:
    try:
        return Http(where, {}, timeout=60.0).request("POST", "/")[0].status == 200
    except OSError:
        return False
