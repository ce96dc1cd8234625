"""Permission requests of agents: decided by policies, by what was allowed for the session, or by a person."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import orjson
from sqlalchemy.engine import Connection

from executor.errors import Conflict, InvalidRequest
from executor.execution.approvals.settlement import settle_open
from executor.execution.journal.journal import interaction_event
from executor.execution.policies.always import Always, check_scope
from executor.execution.policies.cache import PolicyCache
from executor.model.digest import digest
from executor.model.ids import new_id, now_ms
from executor.model.interaction import Binding, Interaction
from executor.model.policy import Decision, Policy
from executor.model.sessions.session import Message, Session, Task
from executor.policy.decide import applies, decide
from executor.policy.drafts import Covers, narrowest, text, with_policy
from executor.sessions.permissions.agent_tools import Request, judge, read_request, subjects_of
from executor.sessions.protocol.messages import Permission
from executor.sessions.transcripts.transcript import Draft, Transcript, start_of_task
from executor.storage.database import Database
from executor.storage.executions import events, interactions
from executor.storage.sessions import messages, sessions, tasks

MAX_INPUT = 1024 * 1024  # bytes: what is longer can't be shown to anyone, so no one can approve it
MAX_OPEN = 50  # of one session
MAX_TEXT = 2_000
UNANSWERED = "no one answered in time"


class Permissions:
    """Decides what agents ask. Whatever goes wrong, the answer is no."""

    def __init__(self, database: Database, policies: PolicyCache) -> None:
        self._database = database
        self._policies = policies
        self._waiting: dict[str, asyncio.Future[Interaction]] = {}

    def on_settled(self, settled: Interaction) -> None:
        waiting = self._waiting.get(settled.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(settled)

    async def decide(
        self,
        session: Session,
        task: Task,
        params: dict[str, Any],
        transcript: Transcript,
        *,
        seconds: int,
    ) -> Permission:
        """`seconds` are for a person to answer; none of them means that no one is there."""
        request = read_request(params, session.cwd)
        size = len(orjson.dumps([request.input, request.diffs], default=str))
        if size > MAX_INPUT:
            return refuse(f"the input has {size} bytes, too many to be shown to anyone")
        in_force = await self._policies.of(session.workspace_id)
        decision = judge(request, session.agent_id, in_force.policies)
        if decision.action == "allow":
            await self._note(session, task, request, "approved", decision)
            return {"approved": True, "scope": "always"}
        if decision.action == "deny":
            await self._note(session, task, request, "denied", decision)
            return refuse(decision.reason)
        if await self._was_permitted(session, request):
            await self._note(session, task, request, "approved", replace(decision, reason="allowed for this session"))
            return {"approved": True, "scope": "session"}
        if seconds <= 0:
            await self._note(session, task, request, "denied", replace(decision, reason="no one is there to ask"))
            return refuse("no one is there to approve it")
        asked = compose(session, task, request, decision, in_force.revision, seconds)
        return await self._ask(task, asked, transcript)

    async def _was_permitted(self, session: Session, request: Request) -> bool:
        granted = await self._database.read(lambda c: interactions.granted_in_session(c, session.id))
        return any(one.binding.schema_digest == digest(request.permit) for one in granted)

    async def _note(self, session: Session, task: Task, request: Request, outcome: str, decision: Decision) -> None:
        data = {
            "sessionId": session.id, "taskId": task.id, "tool": request.path, "outcome": outcome,
            "policyId": decision.policy_id, "reason": decision.reason, "input": digest(dict(request.input)),
        }  # fmt: skip
        await self._database.write(
            lambda c: events.append(c, session.workspace_id, "agent_session.permission_decided", data)
        )

    async def _ask(self, task: Task, asked: Interaction, transcript: Transcript) -> Permission:
        def job(c: Connection) -> Session | None:
            if len(interactions.pending_of_session(c, task.session_id)) >= MAX_OPEN:
                raise Conflict(f"{MAX_OPEN} permission requests are open", hint="decide some of them first")
            interactions.insert(c, asked)
            events.append_all(c, task.workspace_id, "", [interaction_event("requested", asked)])
            return mark_waiting(c, task)

        answer = self._waiting[asked.id] = asyncio.get_running_loop().create_future()
        try:
            transcript.show_session(await transcript.record([record_of(asked)], job))
            settled = await answer
            changed = await transcript.record([record_of(settled)], lambda c: mark_waiting(c, task))
            transcript.show_session(changed)
        except Conflict as refusal:
            return refuse(refusal.message)
        finally:
            self._waiting.pop(asked.id, None)
        return answer_of(settled)

    async def cancel(self, session: Session, reason: str, transcript: Transcript | None = None) -> None:
        """What its tasks still asked: they end, and no one is waited for. The transcript says of each request what
        became of it, also of one that was decided right before a process was killed."""

        def job(c: Connection) -> tuple[list[Interaction], list[Interaction]]:
            pending = interactions.pending_of_session(c, session.id)
            settled = [one for one, _ in settle_open(c, pending, "cancelled", reason=reason)]
            since = start_of_task(c, session.id, "running", "waiting")
            records = messages.of_kind(c, session.id, "permission", after=since)
            shown = (interactions.get(c, session.workspace_id, one.id) for one in records if is_open(one))
            return settled, [one for one in shown if one is not None]

        settled, shown = await self._database.write(job)
        for one in settled:
            self.on_settled(one)
        if transcript is not None and shown:
            await transcript.record([record_of(one) for one in shown])

    async def draft_policy(
        self, asked: Interaction, *, covers: Covers = "tool", pins: Sequence[str] = (), given: Policy | None = None
    ) -> Always:
        """The policy of "always", for the agent of this person: for the same command or path, unless it is `given`."""
        check_scope(asked)
        if covers == "source":
            raise InvalidRequest("an agent's tools belong to no source", hint="let the policy cover the tool")
        request = request_of(asked)
        subject = subjects_of(request, asked.binding.actor_id)[0]
        in_force = await self._policies.of(asked.workspace_id)
        pinned = pins or (("/command",) if request.command else ("/path",) if request.paths else ())
        policy = given or narrowest(
            subject, pinned, level="workspace", owner_id=asked.workspace_id, covers="tool" if pinned else covers
        )
        policy = replace(policy, source_id="", effect="")
        if policy.action != "allow" or not applies(policy, subject):
            raise InvalidRequest(f"the policy {text(policy)} does not allow this", hint="start from the draft")
        asking = next((one for one in in_force.policies if one.id == asked.prompt.get("policyId")), None)
        position = asking.position if asking and asking.level == policy.level else None
        after = decide(subject, with_policy(in_force.policies, policy, position))
        if after.action != "allow":
            raise Conflict(
                f"it would still need approval with this policy: {after.reason}",
                hint="change that policy, or approve it once",
            )
        return Always(policy, position, in_force.revision, after)


def mark_waiting(c: Connection, task: Task) -> Session | None:
    """A task waits while one of its requests is open, and runs otherwise. None for one that has ended."""
    state: Literal["waiting", "running"] = (
        "waiting" if interactions.pending_of_session(c, task.session_id) else "running"
    )
    if tasks.change(c, task.id, only=("running", "waiting"), status=state) is None:
        return None
    return sessions.change_status(c, task.session_id, state)


def compose(
    session: Session, task: Task, request: Request, decision: Decision, revision: int, seconds: int
) -> Interaction:
    at = now_ms()
    binding = Binding(
        actor_id=session.agent_id,
        execution_id="",
        call_seq=task.number,
        path=request.path,
        schema_digest=digest(request.permit),
        arguments_digest=digest(dict(request.input)),
        source_digest="",
        policy_revision=revision,
        session_id=session.id,
    )
    return Interaction(
        id=new_id("int"),
        workspace_id=session.workspace_id,
        execution_id="",
        call_seq=task.number,
        kind="approval",
        status="pending",
        binding=binding,
        prompt=render(session, task, request, decision),
        created_at=at,
        expires_at=at + seconds * 1000,
        session_id=session.id,
    )


def render(session: Session, task: Task, request: Request, decision: Decision) -> dict[str, Any]:
    """Everything the agent sent, with what only we know: where it would happen, and what an approval would cover."""
    return {
        "question": f"Allow {session.agent} to do this?",
        "tool": request.path,
        "effect": request.effect,
        "description": request.title[:MAX_TEXT],
        "source": f"the agent {session.agent}",
        "host": f"this machine, isolation {session.isolation}",
        "reason": decision.reason,
        "policyId": decision.policy_id,
        "arguments": dict(request.input),
        "cwd": session.cwd,
        "taskId": task.id,
        "toolCallId": request.tool_call,
        "sessionScope": request.permit_text,
        **({"diffs": [dict(one) for one in request.diffs]} if request.diffs else {}),
    }


def request_of(asked: Interaction) -> Request:
    prompt = asked.prompt
    return Request(
        asked.binding.path,
        prompt.get("arguments") or {},
        prompt.get("cwd", ""),
        diffs=tuple(prompt.get("diffs") or ()),
    )


def is_open(record: Message) -> bool:
    return record.data.get("status") == "pending"


def record_of(asked: Interaction) -> Draft:
    prompt = asked.prompt
    data = {
        "interactionId": asked.id,
        "status": asked.status,
        "tool": asked.binding.path,
        "toolCallId": prompt.get("toolCallId") or None,
        "sessionScope": prompt.get("sessionScope"),
        "scope": asked.scope or None,
        "reason": asked.reason or None,
        "settledBy": asked.settled_by or None,
        "expiresAt": asked.expires_at,
    }
    return Draft(asked.id, "permission", prompt.get("taskId", ""), prompt.get("description", ""), data)


def answer_of(settled: Interaction) -> Permission:
    """One that was cancelled has no reason that an agent should read: its task has ended."""
    if settled.status == "cancelled":
        return refuse("")
    if settled.status != "approved":
        why = UNANSWERED if settled.status == "expired" else settled.reason or f"it was {settled.status}"
        return refuse(why)
    scope = settled.scope if settled.scope in ("session", "always") else "once"
    return {"approved": True, "scope": scope}  # type: ignore[typeddict-item]  # one of the literals, as was checked


def refuse(reason: str) -> Permission:
    return {"approved": False, "reason": reason, "scope": "once"}
