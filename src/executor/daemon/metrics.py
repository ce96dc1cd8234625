"""Metrics that are looked up when someone asks for them, beside those that are counted as things happen.

Nothing here grows with the past: queues and workers are in memory, and of the rows only those that are open are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection

from executor import __version__
from executor.model.ids import now_ms
from executor.storage.executions import interactions
from executor.storage.webhooks import deliveries, webhooks
from executor.telemetry import metrics, process
from executor.telemetry.metric import Family, gauge

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor


MOST_COUNTED = 1_000  # deliveries of one webhook


async def gather(executor: Executor) -> list[Family]:
    """Everything, for `/metrics` and for the exporter."""
    return [
        gauge("executor.build.info", "", "Always 1; the version is a label", {__version__: 1}, "version"),
        *metrics.families(),
        *_executions(executor),
        *_workers(executor),
        *await _interactions(executor),
        *await _webhooks(executor),
        *_sessions(executor),
        gauge("executor.database.queue", "{write}", "Writes that wait for a commit", executor.database.queue_length),
        *process.families(),
    ]


def _executions(executor: Executor) -> list[Family]:
    engine = executor.engine
    waiting = engine.waiting_for_sandbox
    return [
        gauge("executor.executions.live", "{execution}", "Executions that hold memory", engine.live),
        gauge("executor.executions.queued", "{execution}", "Executions that are queued as rows", engine.queue_length),
        gauge("executor.sandbox.waiting", "{execution}", "Executions that wait for a sandbox", waiting, "runtime"),
    ]


def _workers(executor: Executor) -> list[Family]:
    """Of runtimes that have processes here."""
    pids = {name: process_ids(runtime) for name, runtime in executor.runtimes.in_use.items()}
    counts = {name: len(found) for name, found in pids.items()}
    memory = {name: process.resident_bytes(found) for name, found in pids.items()}
    held = {
        name: runtime.open_sandboxes
        for name, runtime in executor.runtimes.in_use.items()
        if hasattr(runtime, "open_sandboxes")
    }
    return [
        gauge("executor.workers", "{process}", "Sandbox processes", counts, "runtime"),
        gauge("executor.workers.memory", "By", "Resident memory of sandbox processes", memory, "runtime"),
        gauge("executor.sandboxes.held", "{sandbox}", "Sandboxes that a program holds", held, "runtime"),
    ]


def process_ids(runtime: Any) -> list[int]:
    return list(getattr(runtime, "worker_pids", None) or getattr(runtime, "pids", None) or ())


async def _interactions(executor: Executor) -> list[Family]:
    found = await executor.database.read(interactions.count_pending)
    now = now_ms()
    ages = {kind: max(0, now - oldest) / 1000 for kind, _, oldest in found}
    counts = {kind: count for kind, count, _ in found}
    return [
        gauge("executor.interactions.pending", "{interaction}", "Interactions that no one has settled", counts, "kind"),
        gauge("executor.interactions.oldest_age", "s", "Age of the oldest pending one", ages, "kind"),
    ]


async def _webhooks(executor: Executor) -> list[Family]:
    """Nothing is read unless there is a webhook."""
    if "webhooks" not in executor.__dict__:
        return []
    count = await executor.database.read(count_deliveries)
    return [gauge("executor.webhook.pending", "{delivery}", "Deliveries under way or to be retried", count)]


def count_deliveries(c: Connection) -> int:
    return sum(deliveries.count_pending(c, one.id, MOST_COUNTED) for one in webhooks.everywhere(c))


def _sessions(executor: Executor) -> list[Family]:
    """Nothing is imported unless a session was used."""
    if "sessions" not in executor.__dict__:
        return []
    found = executor.sessions.processes
    return [gauge("executor.session.processes", "{process}", "Processes of agent sessions", found, "state")]
