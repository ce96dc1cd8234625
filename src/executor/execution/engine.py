"""The engine: takes code in, keeps every execution's run, and carries decisions to where they are waited for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Literal
from weakref import WeakValueDictionary

from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from executor.checking.diagnostics import ROOT
from executor.errors import (
    CodeTooLarge,
    Conflict,
    EmptyCode,
    Fenced,
    Forbidden,
    InvalidRequest,
    KeyReused,
    LimitReached,
    NotFound,
)
from executor.execution import failures
from executor.execution.approvals.authority import Authority
from executor.execution.approvals.expiry import check_open, expire_forever
from executor.execution.approvals.requests import NEEDS
from executor.execution.approvals.settlement import find_locked, save_policy, settle
from executor.execution.artifacts.contents import Contents
from executor.execution.dispatch import LocalDispatch
from executor.execution.history import look_up, may_see
from executor.execution.journal.journal import Journal, close_in, read_few
from executor.execution.journal.verification import replay_journal
from executor.execution.outcome import Outcome, ReplayReport, log_line
from executor.execution.policies.always import Always, check_permitted, check_scope
from executor.execution.quotas import Quotas, narrow_limits
from executor.execution.runs.run import Run
from executor.execution.submissions import Submission, Submitted
from executor.execution.typecheck import Checks, Typecheck
from executor.execution.use_limits import choose_priority
from executor.model.event import ENDINGS, Announcement
from executor.model.execution import Call, Execution, Limits
from executor.model.fairness import Lane
from executor.model.identity.actor import Actor
from executor.model.ids import new_id, now_ms
from executor.model.interaction import Interaction, InteractionStatus, Scope
from executor.model.use_limits import UNBOUND, Bounds, Priority
from executor.storage.database import Database
from executor.storage.executions import artifacts, calls, events, executions, interactions, submissions
from executor.telemetry.metrics import EXECUTIONS, INTERACTION_WAIT, INTERACTIONS

GLANCE_SECONDS = 0.02
LOOK_SECONDS = 1.0  # at executions of other processes
ABANDON_SECONDS = 5.0
LOOKED_AT = 100  # runs, before one is taken for alone


class Engine:
    """On SQLite every run is a task of this process. On PostgreSQL others may have it."""

    def __init__(
        self,
        database: Database,
        dispatch: LocalDispatch,
        *,
        limits: Limits,
        max_code_bytes: int,
        checks: Checks | None = None,
        quotas: Quotas | None = None,
        contents: Contents | None = None,
    ) -> None:
        self._quotas = quotas
        self._contents = contents or Contents(database)
        self._database = database
        self._dispatch = dispatch
        self._limits = limits
        self._max_code_bytes = max_code_bytes
        self._checks = checks
        self._decisions: dict[str, asyncio.Event] = {}
        self.on_settled: list[Callable[[Interaction], None]] = []  # of what no execution waits for
        self._news: dict[str, set[asyncio.Event]] = {}
        self._names: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @property
    def live(self) -> int:
        """Executions that hold memory here; parked ones are rows only."""
        return len(self._dispatch.runs)

    @property
    def queue_length(self) -> int:
        """Executions that are rows only, and run when it is their turn."""
        return len(self._dispatch.backlog)

    @property
    def waiting_for_sandbox(self) -> dict[str, int]:
        """How many, by runtime."""
        return self._dispatch.waiting_for_sandbox

    async def start(self) -> int:
        """Take up what an earlier process left unfinished; how many there were."""
        self._dispatch.spawn(expire_forever(self._database, self.settle_by))
        if self._database.processes is not None:
            return 0
        left = await self._database.read(list_left_behind)
        self._dispatch.take_over(left)
        return len(left)

    async def close(self) -> None:
        """Park running work."""
        await self._dispatch.close()

    # -- executions -----------------------------------------------------------------------------------------------

    async def run(
        self,
        actor: Actor,
        code: str,
        *,
        language: str | None = None,
        runtime: str | None = None,
        limits: Limits | None = None,
        typecheck: Typecheck | None = None,
        seconds: float,
    ) -> Outcome:
        """Submit and wait."""
        submitted = await self.begin(actor, Submission(code, language, runtime, limits, typecheck))
        return await submitted.outcome(seconds)

    async def begin(self, actor: Actor, submission: Submission) -> Submitted:
        """Submit. The first write is on its way while the sandbox already runs; an outcome is reported after both."""
        if not submission.key:
            return self._start(actor, *await self._admit(actor, submission))
        name = (actor.id, submission.key)
        async with self._names.setdefault(name, asyncio.Lock()):
            found = await self._database.read(lambda c: submissions.find(c, actor.workspace_id, *name))
            if found is not None:
                return self._find_known(actor, submission, *found)
            try:
                begun = await self._admit(actor, submission)
                await begun[-1].durable()
            except (IntegrityError, LimitReached):  # another process may have been given the same at the same time
                found = await self._database.read(lambda c: submissions.find(c, actor.workspace_id, *name))
                if found is None:
                    raise
                return self._find_known(actor, submission, *found)
            return self._start(actor, *begun)

    async def _admit(self, actor: Actor, submission: Submission) -> tuple[Execution, Run | None, Journal]:
        if not actor.is_stranger or self._quotas is None:
            return await self._begin(actor, submission)
        await self._quotas.admit(actor)
        begun = await self._begin(actor, replace(submission, limits=narrow_limits(submission.limits or self._limits)))
        self._quotas.note(actor.workspace_id, begun[0].id)
        return begun

    def _find_known(self, actor: Actor, submission: Submission, execution_id: str, digest: str) -> Submitted:
        if digest != submission.digest:
            raise KeyReused(
                f"the idempotency key {submission.key!r} was already used with other code or options",
                hint="use a new key for every submission",
                executionId=execution_id,
            )
        return Submitted(execution_id, partial(self.wait, actor, execution_id), is_known=True)

    def _start(self, actor: Actor, execution: Execution, run: Run | None, journal: Journal) -> Submitted:
        """Without a run, it is queued."""

        async def outcome(seconds: float) -> Outcome:
            ends = asyncio.get_running_loop().time() + seconds
            if run is None:
                await journal.durable()
                return await self.wait(actor, execution.id, seconds)
            await wait_until(run.reported, seconds)
            if run.outcome is not None:
                return run.outcome
            with suppress(Fenced):  # cancelled: its row is there all the same
                await journal.durable()
            if self._database.processes is not None:  # another process may have it
                return await self.wait(actor, execution.id, max(0.0, ends - asyncio.get_running_loop().time()))
            return await self.outcome(actor, execution.id)

        return Submitted(execution.id, outcome)

    async def wait(
        self, actor: Actor, execution_id: str, seconds: float, *, through_pause: bool = False, whole: bool = True
    ) -> Outcome:
        """Return when it is paused or has ended, or when the time is up; `through_pause` also waits for humans."""
        ends = asyncio.get_running_loop().time() + seconds
        while True:
            left = ends - asyncio.get_running_loop().time()
            run = self._dispatch.runs.get(execution_id)
            if run is not None and may_see(actor, run.execution):
                await wait_until(run.done if through_pause else run.reported, left)
                if run.outcome is not None and (run.execution.is_final or not through_pause):
                    return run.outcome
            with self._listen(execution_id) as news:  # before it is read, so that nothing is missed in between
                outcome = await self.outcome(actor, execution_id, whole=whole)
                status = outcome.execution.status
                if outcome.execution.is_final or (status == "paused" and not through_pause) or left <= 0:
                    return outcome
                if self._database.processes is not None and execution_id not in self._dispatch.runs:
                    await wait_until(news, min(left, LOOK_SECONDS))
                    continue
            if status == "paused":
                await wait_until(self._decision(execution_id), min(left, GLANCE_SECONDS * 50))
            elif waiting := self._dispatch.backlog.get(execution_id):
                await wait_until(waiting.drop_event, left)
            elif execution_id not in self._dispatch.runs:
                await asyncio.sleep(min(left, GLANCE_SECONDS))

    @contextmanager
    def _listen(self, execution_id: str) -> Iterator[asyncio.Event]:
        """Set when it pauses or ends, in whatever process. An announcement may be missed, so a wait needs an end."""
        news = asyncio.Event()
        waiting = self._news.setdefault(execution_id, set())
        waiting.add(news)
        try:
            yield news
        finally:
            waiting.discard(news)
            if not waiting:
                self._news.pop(execution_id, None)

    def hear(self, announcement: Announcement) -> None:
        """What another process has committed, or this one."""
        if announcement.type == "execution.paused" or announcement.type in ENDINGS:
            for news in self._news.get(announcement.execution_id, ()):
                news.set()

    async def outcome(self, actor: Actor, execution_id: str, *, whole: bool = True) -> Outcome:
        """Not `whole`: a result that is kept as an artifact is left there."""

        def job(c: Connection) -> Outcome:
            execution = look_up(c, actor, execution_id)
            kept = artifacts.get(c, actor.workspace_id, execution.artifact_id) if execution.artifact_id else None
            execution = artifacts.fill_result(c, execution) if whole else execution
            pending = interactions.page(c, actor.workspace_id, status="pending", execution_id=execution_id, limit=200)
            lines = events.logs(c, actor.workspace_id, execution_id)
            warned = events.diagnostics(c, actor.workspace_id, execution_id)
            logs = tuple(log_line(event) for event in lines)
            return Outcome(execution, tuple(reversed(pending)), logs, warned, kept)

        found = await self._database.read(job)
        if not whole or found.artifact is None or found.artifact.object_key is None:
            return found
        return replace(found, execution=await self._contents.fill(found.execution))

    async def cancel(self, actor: Actor, execution_id: str, *, grace: float = 0.0) -> Execution:
        """End it. Writes that were sent have `grace` seconds to be answered; nothing else is sent meanwhile."""
        run = self._dispatch.runs.get(execution_id)
        if grace and run is not None and may_see(actor, run.execution):
            await settle_writes(run, grace)

        def job(c: Connection) -> Execution:
            executions.lock(c, [execution_id])
            execution = look_up(c, actor, execution_id)
            if execution.is_final:
                raise Conflict(
                    f"execution {execution_id} is already {execution.status}", hint="there is nothing to cancel"
                )
            lost = close_in(c, actor.workspace_id, execution_id, by=actor)
            executions.cancel(c, execution_id, failures.cancelled_failure(actor.name, lost))
            events.append(c, actor.workspace_id, "execution.cancelled", {"by": actor.id}, execution_id, by=actor)
            return executions.get(c, actor.workspace_id, execution_id) or execution

        cancelled = await self._database.write(job)
        EXECUTIONS.add("cancelled", cancelled.runtime)
        self._dispatch.cancel(execution_id)
        self._carry(execution_id)
        return cancelled

    async def abandon(self, workspace_id: str) -> None:
        """Let go of everything that runs in a workspace which is about to be removed."""
        live = [run for run in self._dispatch.runs.values() if run.execution.workspace_id == workspace_id]
        for run in live:
            run.abort()
        for run in live:
            await wait_until(run.done, ABANDON_SECONDS)

    async def replay(self, actor: Actor, execution_id: str) -> ReplayReport:
        """Run an ended execution's code again from its journal alone; nothing is sent."""
        outcome = await self.outcome(actor, execution_id)
        execution = outcome.execution
        if not execution.is_final:
            raise Conflict(f"execution {execution_id} is {execution.status}", hint="wait until it has ended")
        journalled = await self._database.read(
            lambda c: artifacts.filled_calls(c, calls.of_execution(c, actor.workspace_id, execution_id))
        )
        journalled = [await self._contents.fill(call) for call in journalled]
        check_kept(outcome, journalled)
        return await replay_journal(self._dispatch.runtimes.get(execution.runtime), execution, journalled)

    # -- interactions -----------------------------------------------------------------------------------------------

    async def settle(
        self,
        actor: Actor,
        interaction_id: str,
        decision: Literal["approve", "deny"],
        *,
        reason: str = "",
        result: str | None = None,
        scope: Scope = "once",
        always: Always | None = None,
    ) -> Interaction:
        """Decide once. In the same transaction a parked execution is queued, so no decision is lost.

        `always` is the policy that the decision makes, exactly as it was shown.
        """
        if not actor.may_decide:
            raise Forbidden("only a human can decide", hint="use the operator's token or an interactive terminal")
        if (scope == "always") != (always is not None) or (scope != "once" and decision != "approve"):
            raise InvalidRequest(
                f"{decision} can't have the scope {scope}",
                hint="approve with the scope once, execution, session or always",
            )
        if "\0" in reason:
            raise InvalidRequest("the reason contains a NUL character", hint="leave it out")
        if always is not None:
            check_permitted(actor, always.policy)

        def job(c: Connection) -> tuple[Interaction, Execution | None]:
            asked = find_locked(c, actor.workspace_id, interaction_id)
            if asked is None:
                raise NotFound(f"there is no interaction {interaction_id}", hint="see `executor approvals list`")
            check_open(c, asked)
            Authority(c, actor).check(asked, approves=decision == "approve")
            if asked.kind in NEEDS and decision == "approve":
                raise InvalidRequest("this interaction asks for a credential", hint="use `executor approvals give`")
            if asked.kind == "elicitation" and decision == "approve":
                raise InvalidRequest("this interaction asks for input", hint="use `executor approvals answer`")
            if result is not None and (asked.kind != "unknown_outcome" or decision != "approve"):
                raise InvalidRequest("only an approved unknown outcome takes a result", hint="leave out the result")
            verdict: InteractionStatus = "approved" if decision == "approve" else "denied"
            if scope != "once":
                check_scope(asked, scope)
            if always is not None:
                asked = save_policy(c, asked, always, by=actor)
            return settle(c, asked, verdict, by=actor, reason=reason, result=result, scope=scope)

        may_run_early = scope == "once" and self._database.processes is None
        settled, resumed = await (self._write_ahead(job) if may_run_early else self._database.write(job))
        self._carry_decision(settled, resumed)
        return settled

    def _write_ahead(
        self, decide: Callable[[Connection], tuple[Interaction, Execution | None]]
    ) -> asyncio.Future[tuple[Interaction, Execution | None]]:
        """Write a decision that changes nothing else. What it lets continue runs while that is being committed."""
        loop, context = asyncio.get_running_loop(), copy_context()

        def job(c: Connection) -> tuple[Interaction, Execution | None]:
            settled, resumed = decide(c)
            if resumed is not None and (recorded := read_few(c, resumed)) is not None:
                early = partial(self._dispatch.resume_early, resumed, recorded)
                begin = partial(loop.call_soon_threadsafe, lambda: early(written), context=context)
                c.info["at_commit"].append(begin)
            return settled, resumed

        written = self._database.write(job)
        return written

    async def settle_by(
        self, job: Callable[[Connection], list[tuple[Interaction, Execution | None]]]
    ) -> list[Interaction]:
        """What `job` settles in its transaction is carried to where it is waited for."""
        settled = await self._database.write(job)
        for interaction, resumed in settled:
            self._carry_decision(interaction, resumed)
        return [interaction for interaction, _ in settled]

    def _decision(self, execution_id: str) -> asyncio.Event:
        return self._decisions.setdefault(execution_id, asyncio.Event())

    def has_waiting(self, elicitation: Interaction) -> bool:
        """Whether a server still waits for this answer."""
        run = self._dispatch.runs.get(elicitation.execution_id)
        return run is not None and run.has_open(elicitation.id)

    def may_wait(self, elicitation: Interaction) -> bool:
        """The same, as far as this process can say: another one may have the call."""
        elsewhere = self._database.processes is not None and elicitation.execution_id not in self._dispatch.runs
        return elsewhere or self.has_waiting(elicitation)

    def _carry_decision(self, settled: Interaction, resumed: Execution | None) -> None:
        INTERACTIONS.add(settled.kind, settled.status)
        INTERACTION_WAIT.observe(((settled.settled_at or now_ms()) - settled.created_at) / 1000, settled.kind)
        if settled.execution_id:
            self._carry(settled.execution_id, resumed, settled)
            return
        for listener in self.on_settled:
            listener(settled)

    def _carry(self, execution_id: str, resumed: Execution | None = None, settled: Interaction | None = None) -> None:
        """Bring a decision to where it is waited for: a parked execution runs again, a live one is woken."""
        if resumed is not None:
            self._dispatch.resume(resumed)
        elif run := self._dispatch.runs.get(execution_id):
            run.wake(settled)
        if waiting := self._decisions.pop(execution_id, None):
            waiting.set()

    # -- submissions ------------------------------------------------------------------------------------------------

    async def _begin(self, actor: Actor, submission: Submission) -> tuple[Execution, Run | None, Journal]:
        limits = self._dispatch.limits
        bounds = UNBOUND if limits.are_default else limits.of(actor.workspace_id, actor.id)
        execution = self._create(actor, submission, bounds)
        begin_check = partial(self._checks.begin, typecheck=submission.typecheck) if self._checks is not None else None
        if bounds is not UNBOUND and bounds.is_bound:
            name = (submission.key, submission.digest) if submission.key else None
            run, journal = await self._dispatch.begin_bound(execution, bounds, begin_check, name)
        else:
            run, journal = self._dispatch.begin(execution, begin_check)
            if submission.key:
                journal.name(submission.key, submission.digest)
            elif run is not None and ROOT not in submission.code:  # else its row goes in with its first call
                journal.log_start(is_alone=self._is_alone(run))
        return (run.execution if run else replace(execution, status="queued", owner="")), run, journal

    def _is_alone(self, run: Run) -> bool:
        """Others may still be there until their rows are written, but no one waits for them. More than a few are not
        looked at: thousands may be paused with calls under way."""
        return len(self._dispatch.runs) <= LOOKED_AT and all(
            other.reported.is_set() for other in self._dispatch.runs.values() if other is not run
        )

    def _create(self, actor: Actor, submission: Submission, bounds: Bounds) -> Execution:
        self._check_code(submission.code)
        language, runtime = self._dispatch.runtimes.choose(submission.language, submission.runtime, submission.code)
        at = now_ms()
        plain: Priority | None = "normal" if bounds is UNBOUND and submission.priority is None else None
        return Execution(
            id=new_id("exec"),
            workspace_id=actor.workspace_id,
            actor_id=actor.id,
            language=language,
            runtime=runtime,
            code=submission.code,
            status="running",
            seed=os.urandom(16),
            clock_ms=at,
            limits=submission.limits or self._limits,
            created_at=at,
            updated_at=at,
            origin=actor.origin,
            client_id=submission.client_id,
            client_name=submission.client_name,
            toolkit_id=actor.toolkit_id,
            typecheck=submission.typecheck or "",
            priority=plain or choose_priority(actor, bounds, submission.priority),
        )

    def _check_code(self, code: str) -> None:
        if "\0" in code:
            raise InvalidRequest("the code contains a NUL character", hint="write it as an escape, such as `\\u0000`")
        if not code.strip():
            raise EmptyCode("the code is empty", hint="send TypeScript such as `return 1 + 1`")
        try:
            size = len(code.encode())
        except UnicodeEncodeError as error:
            raise InvalidRequest("the code is not valid Unicode text", hint="send it as UTF-8") from error
        if size > self._max_code_bytes:
            raise CodeTooLarge(
                f"the code has {size} bytes, more than the limit of {self._max_code_bytes}",
                hint="pass data through tools instead of writing it into the code",
            )


def list_left_behind(c: Connection) -> list[tuple[str, Lane]]:
    return executions.list_unfinished(c, interactions.list_eliciting(c))


async def settle_writes(run: Run, seconds: float) -> None:
    """What it sent is answered or had its time, it sends nothing more, and its row is there."""
    if run.has_unanswered_writes:
        run.stop(seconds)
        await wait_until(run.done, seconds)
    with suppress(Fenced):
        await run.journal.durable()


async def wait_until(event: asyncio.Event, seconds: float) -> None:
    if not event.is_set():
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await event.wait()
        except TimeoutError:
            return


def check_kept(outcome: Outcome, journalled: Sequence[Call]) -> None:
    """A replay needs every result; deleted ones can't be compared."""
    lost = [call.artifact_id for call in journalled if call.artifact_id and call.result is None]
    if outcome.execution.artifact_id and outcome.execution.result is None:
        lost.append(outcome.execution.artifact_id)
    if lost:
        raise Conflict(f"the artifact {lost[0]} was deleted, and a replay needs it", hint="run the code again")
