"""What servers ask people during the calls of a run. The calls stay under way meanwhile, so their run stays alive."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy.engine import Connection

from executor.errors import Busy, ExecutorError
from executor.execution.approvals.requests import ApprovalRequests
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.journal.journal import Journal, withdraw_in
from executor.model.execution import Call, Execution
from executor.model.interaction import Action, Elicitation, ElicitationAnswer, Interaction, InteractionStatus
from executor.model.tool import Tool
from executor.schemas.form import read_form
from executor.secrets.redaction import redact_value
from executor.storage.executions import executions

MOST_OF_CALL = 25
UNCERTAIN = "{count} calls to this server are under way, and it does not say which one this belongs to"
GONE = "the server no longer waits for an answer"
ACTIONS: dict[InteractionStatus, Action] = {"approved": "accept", "denied": "decline"}


class Elicitations:
    """`open` are those that no one has answered, by id. `news` is set when that changes."""

    def __init__(
        self,
        execution: Execution,
        journal: Journal,
        pipeline: CallPipeline,
        requests: ApprovalRequests,
        news: asyncio.Event,
    ) -> None:
        self._execution = execution
        self._journal = journal
        self._pipeline = pipeline
        self._requests = requests
        self._news = news
        self._asked: Counter[int] = Counter()
        self._answers: dict[str, asyncio.Future[ElicitationAnswer]] = {}
        self.open: dict[str, Interaction] = {}

    @property
    def seqs(self) -> set[int]:
        """The calls whose servers wait for people."""
        return {one.call_seq for one in self.open.values()}

    async def ask(
        self, call: Call, tool: Tool, elicitation: Elicitation, secrets: tuple[str, ...]
    ) -> ElicitationAnswer:
        """Waits until someone answers. Raises ExecutorError where one may not be asked, or not again."""
        if self._asked[call.seq] >= MOST_OF_CALL:
            raise too_often(call)
        self._asked[call.seq] += 1
        limits = self._pipeline.open_approvals
        refusal = await limits.admit(self._execution, len(self._requests.asked) + len(self.open))
        if refusal is not None:
            raise refusal
        try:
            interaction = await self._draft(call, tool, elicitation, secrets)
            self._journal.ask(interaction)
            written = self._journal.flush()
        except BaseException:
            limits.note_written(self._execution.actor_id, 1)
            raise
        if written is not None:
            written.add_done_callback(lambda _: limits.note_written(self._execution.actor_id, 1))
        return await self._wait(interaction)

    def settle(self, settled: Interaction) -> None:
        """Someone has answered, or its time is over: the server gets to know at once."""
        waiting = self._answers.get(settled.id)
        if waiting is None or waiting.done():
            return
        content = orjson.loads(settled.result) if settled.result is not None else None
        waiting.set_result(ElicitationAnswer(ACTIONS.get(settled.status, "cancel"), content))

    def dismiss(self, reason: str) -> None:
        """Nothing waits for people now: each server learns that no one chose anything."""
        for key, waiting in self._answers.items():
            if not waiting.done():
                waiting.set_result(ElicitationAnswer("cancel"))
                if key in self.open:
                    self._journal.withdraw(self.open[key], reason)

    async def _draft(self, call: Call, tool: Tool, elicitation: Elicitation, secrets: tuple[str, ...]) -> Interaction:
        several = elicitation.candidates > 1
        reason = UNCERTAIN.format(count=elicitation.candidates) if several else "its server asks for input"
        drafted = await self._requests.draft("elicitation", call, tool, reason)
        shown: dict[str, Any] = {"mode": "url" if elicitation.url else "form", "message": elicitation.message}
        shown |= {"url": elicitation.url} if elicitation.url else {"schema": elicitation.schema}
        shown = redact_value(shown, secrets)
        if "schema" in shown:
            read_form(shown["schema"])
        return replace(drafted, prompt={**drafted.prompt, "elicitation": shown})

    async def _wait(self, interaction: Interaction) -> ElicitationAnswer:
        """Known here before anyone can see it, so that no answer is missed."""
        waiting = asyncio.get_running_loop().create_future()
        self.open[interaction.id], self._answers[interaction.id] = interaction, waiting
        try:
            await self._journal.durable()
            self._news.set()
            answer: ElicitationAnswer = await waiting
            return answer
        except asyncio.CancelledError:
            self._journal.withdraw(interaction, GONE)
            raise
        finally:
            del self.open[interaction.id], self._answers[interaction.id]
            self._news.set()


def too_often(call: Call) -> ExecutorError:
    return Busy(
        f"{call.path} has asked for input {MOST_OF_CALL} times, which is the most that one call may",
        hint="ask for everything in one form",
    )


def close_abandoned(c: Connection, execution_id: str) -> None:
    """What servers asked a run that is gone: their calls ended with it, and no answer would reach them."""
    executions.lock(c, [execution_id])
    withdraw_in(c, execution_id, "Executor was restarted while the server waited for an answer")
