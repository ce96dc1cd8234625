"""The journal of one execution.

What happens is held and written as one transaction, fenced by the epoch: with the next thing that must be durable, or
when the run is about to wait. Nothing leaves the process (a call sent, an outcome reported) before `durable` returned,
so a crash can only lose what no one has seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy.engine import Connection

from executor.errors import Fenced
from executor.execution.artifacts.storage import OWN, is_large, keep
from executor.execution.failures import unknown_outcome
from executor.model.artifact import Artifact
from executor.model.digest import digest
from executor.model.event import Event
from executor.model.execution import Call, Execution, Failure, Status
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.model.interaction import Interaction
from executor.runtime.protocol import Log
from executor.storage.database import Database
from executor.storage.executions import artifacts, calls, events, executions, interactions, submissions

Happened = list[tuple[str, dict[str, Any]]]
Job = Callable[[Connection], None]
BIRTH_SECONDS = 0.02
INLINE_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a resumed execution finds: its calls, what humans were asked, how many log lines are kept already, and what
    its calls warned of."""

    calls: dict[int, Call]
    interactions: dict[int, Interaction]
    log_count: int
    warnings: tuple[Event, ...] = ()


class Journal:
    """A result larger than `inline_bytes` is kept as an artifact, in the transaction that records it.

    `artifact` is that of the execution's own result, once it is finished.
    """

    def __init__(self, database: Database, execution: Execution, inline_bytes: int = INLINE_BYTES) -> None:
        self.artifact: Artifact | None = None
        self._database = database
        self._execution = execution
        self._inline_bytes = inline_bytes
        self._unborn = False
        self._held: list[Job] = []
        self._happened: Happened = []
        self._pending: list[asyncio.Future[Any]] = []

    async def load(self) -> Recorded:
        workspace_id, execution_id = self._execution.workspace_id, self._execution.id

        def job(c: Connection) -> Recorded:
            found = artifacts.filled_calls(c, calls.of_execution(c, workspace_id, execution_id))
            journalled = {call.seq: call for call in found}
            asked = {asked.call_seq: asked for asked in interactions.of_execution(c, execution_id)}
            return Recorded(journalled, asked, events.count_logs(c, execution_id), events.warnings(c, execution_id))

        return await self._database.read(job)

    def create(self) -> None:
        """The execution's row goes in with its first other write, or alone after a moment.

        Until then nothing has left the process and no one knows its id, so there is nothing to lose; an
        execution that calls no tool costs one transaction instead of two.
        """
        self._unborn = True
        self._happened.append(creation_event(self._execution))
        asyncio.get_running_loop().call_later(BIRTH_SECONDS, self.flush_birth)

    def name(self, key: str, digest: str) -> None:
        """With the execution's row, so that neither is ever there without the other."""
        self._hold(lambda c: submissions.insert(c, self._execution, key, digest), [])

    def flush_birth(self) -> None:
        if self._unborn:
            self.flush()

    def log(self, lines: Sequence[Log]) -> None:
        self._happened.extend(("execution.log", {"level": line.level, "text": line.text}) for line in lines)

    def note(self, what: str, data: dict[str, Any]) -> None:
        self._happened.append((what, data))

    def propose(self, proposed: Sequence[Call], asked: Sequence[Interaction]) -> None:
        """Every call of a round, before anything of it is sent."""

        def job(c: Connection) -> None:
            calls.insert(c, proposed)
            for interaction in asked:
                interactions.insert(c, interaction)

        happened = [event for call in proposed if (event := call_event(call))]
        happened += [interaction_event("requested", interaction) for interaction in asked]
        self._hold(job, happened)

    def answer(self, answered: Sequence[Call]) -> None:
        def job(c: Connection) -> None:
            for call in answered:
                calls.answer(c, self._keep(c, call))

        self._hold(job, [event for call in answered if (event := call_event(call))])

    def _keep(self, c: Connection, call: Call) -> Call:
        if call.result is None or not is_large(call.result, self._inline_bytes) or call.path.startswith(OWN):
            return call
        artifact = keep(c, self._execution, call.result, seq=call.seq, path=call.path)
        return replace(call, result=None, artifact_id=artifact.id)

    def start(self, approved: Sequence[tuple[Call, Interaction]]) -> None:
        """Spend the decisions and mark their calls as sent."""

        def job(c: Connection) -> None:
            for call, interaction in approved:
                if not interactions.use(c, interaction.id):
                    raise Fenced(f"the decision {interaction.id} was used before")
                calls.start(c, call)

        sent = [{"seq": call.seq, "path": call.path, "interaction": asked.id} for call, asked in approved]
        self._hold(job, [("call.started", data) for data in sent])

    def ask(self, interaction: Interaction, instead_of: Interaction | None = None) -> None:
        """An interaction about a call that is journalled already."""

        def job(c: Connection) -> None:
            if instead_of is not None:
                interactions.supersede(c, instead_of.id)
            interactions.insert(c, interaction)

        superseded = [interaction_event("superseded", instead_of)] if instead_of else []
        self._hold(job, [*superseded, interaction_event("requested", interaction)])

    async def park(self, waiting: Sequence[int], wall_ms: int) -> dict[int, Interaction]:
        """Park, unless a decision for one of the `waiting` calls came in meanwhile: then return the decisions."""
        execution, settled = self._execution, dict[int, Interaction]()

        def job(c: Connection) -> None:
            latest = {asked.call_seq: asked for asked in interactions.of_execution(c, execution.id)}
            settled.update({seq: latest[seq] for seq in waiting if seq in latest and is_settled(latest[seq])})
            if not settled:
                executions.park(c, execution.id, "paused", wall_ms)
                pending = [latest[seq].id for seq in waiting if seq in latest]
                paused = {"interactions": pending}
                events.append(c, execution.workspace_id, "execution.paused", paused, execution.id, by=execution)

        self.flush()
        self._hold(job, [])
        await self.durable()
        return settled

    async def find_settled(self, waiting: Sequence[int]) -> dict[int, Interaction]:
        found = await self._database.read(lambda c: interactions.of_execution(c, self._execution.id))
        latest = {asked.call_seq: asked for asked in found}
        return {seq: latest[seq] for seq in waiting if seq in latest and is_settled(latest[seq])}

    async def requeue(self, wall_ms: int) -> None:
        """Leave the execution to the next start of the daemon."""
        self._hold(lambda c: executions.park(c, self._execution.id, "queued", wall_ms), [])
        await self.durable()

    def close_open_calls(self) -> None:
        """Before the end: nothing stays proposed, nothing stays asked, and a lost answer is called what it is."""
        execution = self._execution

        def job(c: Connection) -> None:
            close_in(c, execution.workspace_id, execution.id, by=execution)

        self._hold(job, [])

    async def finish(self, status: Status, result: str | None, failure: Failure | None, wall_ms: int) -> int:
        execution, at = self._execution, now_ms()
        happened: Happened = [(f"execution.{status}", {"failure": failure.to_dict()} if failure else {})]
        if result is not None and is_large(result, self._inline_bytes):
            self._hold(self._finishing(status, result, at, wall_ms), happened)
        elif self._unborn and not self._held:
            self._execution = replace(
                execution, status=status, result=result, failure=failure, wall_ms=wall_ms, updated_at=at, finished_at=at
            )
            self._happened += happened
        else:
            self._hold(lambda c: executions.finish(c, execution.id, status, at, wall_ms, result, failure), happened)
        await self.durable()
        return at

    def _finishing(self, status: Status, result: str, at: int, wall_ms: int) -> Job:
        execution = self._execution

        def job(c: Connection) -> None:
            self.artifact = keep(c, execution, result)
            executions.finish(c, execution.id, status, at, wall_ms, None, None, self.artifact.id)

        return job

    def flush(self) -> asyncio.Future[Any] | None:
        """Queue everything that is held as one transaction; the caller continues."""
        if not (self._unborn or self._held or self._happened):
            return None
        execution, born_now, jobs, happened = self._execution, self._unborn, self._held, self._happened
        self._unborn, self._held, self._happened = False, [], []

        def whole(c: Connection) -> None:
            if born_now:
                executions.insert(c, execution)
            else:
                executions.fence(c, execution.id, execution.epoch)
            for job in jobs:
                job(c)
            if happened:
                events.append_all(c, execution.workspace_id, execution.id, happened, by=execution)

        written = self._database.write(whole)
        written.add_done_callback(look_at)
        self._pending.append(written)
        return written

    async def durable(self) -> None:
        """Wait until everything so far is committed, even while the run itself waits or is cancelled."""
        self.flush()
        for future in list(self._pending):
            await asyncio.shield(future)
        self._pending = [future for future in self._pending if not future.done()]

    def _hold(self, job: Job, happened: Happened) -> None:
        self._held.append(job)
        self._happened += happened


def look_at(written: asyncio.Future[Any]) -> None:
    """A cancelled run awaits nothing; anyone who does still learns what went wrong."""
    if not written.cancelled():
        written.exception()


def close_in(c: Connection, workspace_id: str, execution_id: str, *, by: Actor | Execution) -> list[dict[str, Any]]:
    """Close an ended execution's calls and interactions; the writes of which no one knows if they took effect."""
    lost = calls.close(c, execution_id, unknown_outcome("the call").to_dict())
    happened: Happened = [("call.failed", {"seq": seq, "path": path, "code": "unknown_outcome"}) for seq, path in lost]
    happened += [("interaction.cancelled", {"id": closed}) for closed in interactions.cancel_pending(c, execution_id)]
    if happened:
        events.append_all(c, workspace_id, execution_id, happened, by=by)
    return [{"seq": seq, "path": path} for seq, path in lost]


def creation_event(execution: Execution) -> tuple[str, dict[str, Any]]:
    what = {"actor": execution.actor_id, "language": execution.language, "runtime": execution.runtime}
    return "execution.created", what


def is_settled(interaction: Interaction) -> bool:
    return interaction.status in ("approved", "denied", "expired") and not interaction.used


def call_event(call: Call) -> tuple[str, dict[str, Any]] | None:
    if call.kind == "timer":
        return None
    data: dict[str, Any] = {"seq": call.seq, "path": call.path}
    if call.failure is not None:
        data["code"] = call.failure["code"]
        data["message"] = call.failure["message"]
    elif call.result is not None:
        data["bytes"] = len(call.result)
    elif call.effect:
        data["effect"] = call.effect
    if call.done_ms is not None and call.started_at is not None:
        data["durationMs"] = call.done_ms - call.started_at
    return f"call.{call.state}", data


def interaction_event(what: str, interaction: Interaction) -> tuple[str, dict[str, Any]]:
    data = {
        "id": interaction.id,
        "kind": interaction.kind,
        "tool": interaction.binding.path,
        "seq": interaction.call_seq,
        "expiresAt": interaction.expires_at,
        "binding": digest(asdict(interaction.binding)),
    }
    return f"interaction.{what}", data
