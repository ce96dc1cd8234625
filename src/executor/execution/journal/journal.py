"""The journal of one execution.

What happens is held and written as one transaction, fenced by the epoch: with the next thing that must be durable, or
when the run is about to wait. Nothing leaves the process (a call sent, an outcome reported) before `durable` returned,
so a crash can only lose what no one has seen. The one exception is an end that running the code again would give again:
see docs/decisions/delivery-before-commit.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.execution.artifacts.storage import OWN, is_large, keep
from executor.execution.failures import unknown_outcome
from executor.model.artifact import Artifact
from executor.model.event import Event
from executor.model.execution import Call, Execution, Failure, Status
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.model.interaction import Interaction, digest_binding
from executor.runtime.protocol import Log
from executor.storage.database import Database
from executor.storage.executions import (
    artifacts,
    calls,
    events,
    executions,
    guards,
    interactions,
    segments,
    submissions,
)

Happened = list[tuple[str, dict[str, Any]]]
Job = Callable[[Connection], None]
BIRTH_SECONDS = 0.02
BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
INLINE_BYTES = 32 * 1024
FEW = 16  # calls, or log lines, that the writer reads while others wait for it


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a resumed execution finds: its calls, what humans were asked, how many log lines are kept already, and what
    its calls said besides. `elicitations` are the last that servers asked during each call."""

    calls: dict[int, Call]
    interactions: dict[int, Interaction]
    log_count: int
    remarks: tuple[Event, ...] = ()
    elicitations: dict[int, Interaction] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Guarded:
    revision: int
    job: Job
    happened: Happened


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
        self._birth: asyncio.TimerHandle | None = None
        self._start: asyncio.Future[None] | None = None  # its record in the start log
        self._held: list[Job] = []
        self._is_progress = True
        self._happened: Happened = []
        self._pending: list[asyncio.Future[Any]] = []
        self._guarded: Guarded | None = None
        self._attempts = execution.attempts
        self._recorded: Recorded | None = None
        self._claimed: asyncio.Future[Any] | None = None
        self.moved: int | None = None

    def follow(self, claimed: asyncio.Future[Any], recorded: Recorded) -> None:
        """Nothing is durable before the write that claims the execution, which has read what is `recorded`."""
        self._pending.append(claimed)
        self._claimed, self._recorded = claimed, recorded

    async def await_claim(self) -> None:
        """From then on, what is read of the database has the decision that let the execution continue."""
        claimed, self._claimed = self._claimed, None
        if claimed is not None:
            await asyncio.shield(claimed)

    async def load(self) -> Recorded:
        recorded, self._recorded = self._recorded, None
        if recorded is not None:
            return recorded
        return await self._database.read(lambda c: read_recorded(c, self._execution))

    def create(self) -> None:
        """The execution's row goes in with its first other write, or alone after a moment.

        Until then nothing has left the process and no one knows its id, so there is nothing to lose; an
        execution that calls no tool costs one transaction instead of two.
        """
        self._unborn = True
        self._happened.append(creation_event(self._execution))
        self._birth = asyncio.get_running_loop().call_later(BIRTH_SECONDS, self.flush)

    def log_start(self, *, is_alone: bool) -> None:
        """Its code, seed and clock, while its sandbox works: code that makes no call ends in the same way again."""
        if self._unborn and self._database.start_log is not None:
            self._start = self._database.start_log.add(self._execution, is_alone=is_alone)

    async def insert(
        self, decide: Callable[[Connection, Execution], Execution], name: tuple[str, str] | None = None
    ) -> Execution:
        """The execution's row at once, with its `name`, as `decide` wants it. If that raises, nothing is there.

        It may lock what it counts, so it shares no transaction with others.
        """
        execution = self._execution
        happened, self._happened = [creation_event(execution), *self._happened], []

        def job(c: Connection) -> Execution:
            decided = decide(c, execution)
            executions.insert(c, decided)
            if name is not None:
                submissions.insert(c, decided, *name)
            if decided.status == "queued" and self._database.processes is not None:
                executions.announce_queued(c, decided.workspace_id, decided.id)
            events.append_all(c, decided.workspace_id, decided.id, happened, by=decided)
            return decided

        self._execution = await self._database.write(job)
        return self._execution

    def name(self, key: str, digest: str) -> None:
        """With the execution's row, so that neither is ever there without the other."""
        self._hold(lambda c: submissions.insert(c, self._execution, key, digest), [])

    def log(self, lines: Sequence[Log]) -> None:
        self._happened.extend(("execution.log", {"level": line.level, "text": line.text}) for line in lines)

    def note(self, what: str, data: dict[str, Any]) -> None:
        self._happened.append((what, data))

    def propose(self, proposed: Sequence[Call], asked: Sequence[Interaction], guard: int | None = None) -> None:
        """Every call of a round, before anything of it is sent. With a `guard`, see `_hold_guarded`."""

        def job(c: Connection) -> None:
            calls.insert(c, proposed)
            for interaction in asked:
                interactions.insert(c, interaction)

        happened = [event for call in proposed if (event := call_event(call))]
        happened += [interaction_event("requested", interaction) for interaction in asked]
        self._is_progress = self._is_progress and not asked
        self._hold_guarded(job, happened, guard)

    def answer(self, answered: Sequence[Call]) -> None:
        def job(c: Connection) -> None:
            for call in answered:
                calls.answer(c, self._keep(c, call))
            if attempts:
                segments.note_progress(c, self._execution.id)

        attempts, self._attempts = self._attempts, 0
        self._hold_progress(job, [event for call in answered if (event := call_event(call))])

    def _keep(self, c: Connection, call: Call) -> Call:
        if call.result is None or not is_large(call.result, self._inline_bytes) or call.path.startswith(OWN):
            return call
        artifact = keep(c, self._execution, call.result, seq=call.seq, path=call.path)
        return replace(call, result=None, artifact_id=artifact.id)

    def start(self, approved: Sequence[tuple[Call, Interaction]], guard: int | None = None) -> None:
        """Spend the decisions and mark their calls as sent. With a `guard`, see `_hold_guarded`."""

        def job(c: Connection) -> None:
            for call, interaction in approved:
                interactions.use(c, interaction.id)
                calls.start(c, call)

        sent = [{"seq": call.seq, "path": call.path, "interaction": asked.id} for call, asked in approved]
        self._hold_guarded(job, [("call.started", data) for data in sent], guard)

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
            settled.clear()  # it may run again
            latest = latest_decisions(interactions.of_execution(c, execution.id))
            settled.update({seq: latest[seq] for seq in waiting if seq in latest and is_settled(latest[seq])})
            if not settled:
                executions.park(c, execution.id, wall_ms)
                pending = [latest[seq].id for seq in waiting if seq in latest]
                paused = {"interactions": pending}
                events.append(c, execution.workspace_id, "execution.paused", paused, execution.id, by=execution)

        self.flush()
        self._hold(job, [])
        await self.durable()
        return settled

    async def find_settled(self, waiting: Sequence[int]) -> dict[int, Interaction]:
        found = await self._database.read(lambda c: interactions.of_execution(c, self._execution.id))
        latest = latest_decisions(found)
        return {seq: latest[seq] for seq in waiting if seq in latest and is_settled(latest[seq])}

    async def pause(self, waiting: Sequence[int], wall_ms: int) -> bool:
        """Paused while calls are under way whose servers wait for people. False if someone has answered meanwhile."""
        execution, open_ids = self._execution, list[str]()

        def job(c: Connection) -> None:
            open_ids.clear()  # it may run again
            everything = interactions.of_execution(c, execution.id)
            asked = [one for one in everything if one.kind == "elicitation" and one.status == "pending"]
            latest = latest_decisions(everything)
            decisions = [latest[seq] for seq in waiting if seq in latest]
            if not asked or any(is_settled(one) for one in decisions):
                return
            open_ids.extend(one.id for one in (*decisions, *asked))
            executions.pause(c, execution.id, wall_ms)
            paused = {"interactions": open_ids}
            events.append(c, execution.workspace_id, "execution.paused", paused, execution.id, by=execution)

        self.flush()
        self._hold(job, [])
        await self.durable()
        return bool(open_ids)

    def withdraw(self, elicitation: Interaction, reason: str) -> None:
        """The server no longer waits for the answer."""

        def job(c: Connection) -> None:
            withdraw_in(c, elicitation.execution_id, reason, only=elicitation.id)

        self._hold(job, [])
        self.flush()

    async def requeue(self, wall_ms: int) -> None:
        """Leave the execution to the next start of the daemon, or to another process that shares the database."""
        execution = self._execution
        self._hold(lambda c: executions.queue(c, execution.workspace_id, execution.id, wall_ms), [])
        await self.durable()

    def close_open_calls(self) -> None:
        """Before the end: nothing stays proposed, nothing stays asked, and a lost answer is called what it is."""
        execution = self._execution

        def job(c: Connection) -> None:
            close_in(c, execution.workspace_id, execution.id, by=execution)

        self._hold(job, [])

    async def finish(self, status: Status, result: str | None, failure: Failure | None, wall_ms: int) -> Execution:
        """The execution as it has ended."""
        execution, at = self._execution, now_ms()
        ended = replace(
            execution,
            status=status,
            result=result,
            failure=failure,
            wall_ms=wall_ms,
            updated_at=at,
            finished_at=at,
            owner="",
        )
        happened: Happened = [(f"execution.{status}", {"failure": failure.to_dict()} if failure else {})]
        if result is not None and is_large(result, self._inline_bytes):
            self._hold(self._finishing(status, result, at, wall_ms), happened)
        elif self._unborn and not self._held:
            self._execution = ended
            self._happened += happened
            # Meanwhile its row may have been queued alone. Then readers would not wait for it, so it is awaited here.
            if status == "completed" and await self._is_repeatable() and self.flush(is_urgent=False) is not None:
                return ended
        else:
            self._hold(lambda c: executions.finish(c, execution.id, status, at, wall_ms, result, failure), happened)
        await self.durable()
        return ended if self.artifact is None else replace(ended, artifact_id=self.artifact.id)

    async def _is_repeatable(self) -> bool:
        """Whether a crash right now would lose nothing: the next start would find the code, its seed and its clock."""
        if self._start is None:
            return False
        with suppress(OSError):
            await asyncio.shield(self._start)
            return True
        return False

    def _finishing(self, status: Status, result: str, at: int, wall_ms: int) -> Job:
        execution = self._execution

        def job(c: Connection) -> None:
            self.artifact = keep(c, execution, result)
            executions.finish(c, execution.id, status, at, wall_ms, None, None, self.artifact.id)

        return job

    def flush(self, *, is_urgent: bool = True) -> asyncio.Future[Any] | None:
        """Queue everything that is held as one transaction; the caller continues."""
        if not (self._unborn or self._held or self._happened or self._guarded):
            return None
        execution, born_now, jobs, happened = self._execution, self._unborn, self._held, self._happened
        guarded, self._guarded = self._guarded, None
        is_progress, self._is_progress = self._is_progress and not born_now, True
        self._unborn, self._held, self._happened = False, [], []
        if born_now and self._birth is not None:
            self._birth.cancel()

        def whole(c: Connection) -> None:
            if born_now:
                executions.insert(c, execution)
                if execution.status == "queued" and self._database.processes is not None:
                    executions.announce_queued(c, execution.workspace_id, execution.id)
            else:
                executions.fence(c, execution.id, execution.epoch)
            for job in jobs:
                job(c)
            more = self._run_guarded(c, guarded) if guarded is not None else []
            if happened or more:
                events.append_all(c, execution.workspace_id, execution.id, [*happened, *more], by=execution)

        written = self._database.write(whole, execution_id=execution.id, is_progress=is_progress, is_urgent=is_urgent)
        written.add_done_callback(look_at)
        if born_now and self._start is not None:
            written.add_done_callback(self._release_start)
        self._pending.append(written)
        return written

    def _release_start(self, written: asyncio.Future[Any]) -> None:
        if self._database.start_log is not None and not written.cancelled() and written.exception() is None:
            self._database.start_log.release()

    async def durable(self) -> None:
        """Wait until everything so far is committed, even while the run itself waits or is cancelled."""
        self.flush()
        for future in list(self._pending):
            await asyncio.shield(future)
        self._pending = [future for future in self._pending if not future.done()]

    async def confirm(self) -> tuple[float, int]:
        """Whether this run still owns the execution, as of the time that is returned, and what guards its calls now.

        Raises Fenced if it does not.
        """
        execution, began = self._execution, time.clock_gettime(BOOTTIME)

        def job(c: Connection) -> int:
            executions.fence(c, execution.id, execution.epoch)
            return guards.read(c, execution.workspace_id)

        return began, await self._database.write(job, execution_id=execution.id)

    def _hold(self, job: Job, happened: Happened) -> None:
        self._is_progress = False
        self._hold_progress(job, happened)

    def _hold_progress(self, job: Job, happened: Happened) -> None:
        """What may be read by others a moment before it is durable: nothing is accepted, requested or ended by it."""
        self._held.append(job)
        self._happened += happened

    def _hold_guarded(self, job: Job, happened: Happened, guard: int | None) -> None:
        """Done, with the rest of the transaction, only if what guards calls is still at `guard`: else `moved` says
        where it is. The lock on the execution comes first, so the comparison sees all that was committed before."""
        self.moved = None
        if guard is None:
            self._hold_progress(job, happened)
        else:
            self._guarded = Guarded(guard, job, happened)

    def _run_guarded(self, c: Connection, guarded: Guarded) -> Happened:
        self.moved = None  # it may run again
        workspace_id = self._execution.workspace_id
        if not guards.is_at(c, workspace_id, guarded.revision):
            self.moved = guards.read(c, workspace_id)
            return []
        guarded.job(c)
        return guarded.happened


def read_recorded(c: Connection, execution: Execution) -> Recorded:
    found = artifacts.filled_calls(c, calls.of_execution(c, execution.workspace_id, execution.id))
    logged, remarks = events.count_logs(c, execution.id), events.remarks(c, execution.id)
    return recorded_of(found, interactions.of_execution(c, execution.id), logged, remarks)


def read_few(c: Connection, execution: Execution) -> Recorded | None:
    """The same, if it is little enough for the writer to read."""
    found = calls.first(c, execution.workspace_id, execution.id, FEW + 1)
    said = events.first_said(c, execution.id, FEW + 1)
    if len(found) > FEW or len(said) > FEW or any(call.artifact_id for call in found):
        return None
    remarks = tuple(event for event in said if event.type != events.LOG)
    return recorded_of(found, interactions.of_execution(c, execution.id), len(said) - len(remarks), remarks)


def recorded_of(
    found: Sequence[Call], everything: Sequence[Interaction], logged: int, remarks: tuple[Event, ...]
) -> Recorded:
    elicited = {asked.call_seq: asked for asked in everything if asked.kind == "elicitation"}
    return Recorded({call.seq: call for call in found}, latest_decisions(everything), logged, remarks, elicited)


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


def withdraw_in(c: Connection, execution_id: str, reason: str, *, only: str | None = None) -> None:
    """Close what servers asked and no longer wait for. An execution that is paused for it continues."""
    closed = interactions.withdraw_elicitations(c, execution_id, reason, only)
    if not closed:
        return
    requests = (interaction_event("cancelled", one) for one in closed)
    happened = [(what, {**data, "reason": reason}) for what, data in requests]
    if (epoch := executions.unpause(c, execution_id)) is not None:
        happened.append(("execution.resumed", {"epoch": epoch}))
    events.append_all(c, closed[0].workspace_id, execution_id, happened)


def latest_decisions(asked: Sequence[Interaction]) -> dict[int, Interaction]:
    """What humans were asked last about each call; not what its server asked while it was under way."""
    return {one.call_seq: one for one in asked if one.kind != "elicitation"}


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
        "binding": digest_binding(interaction.binding),
    }
    if interaction.session_id:
        data["sessionId"] = interaction.session_id
    return f"interaction.{what}", data
