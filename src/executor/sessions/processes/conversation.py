"""What a daemon and one executor process say to each other, checked: every message shows the session's token."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from executor.dataclass import dataclass
from executor.errors import SessionFailed
from executor.model.ids import now_ms
from executor.model.sessions.session import MessageKind, Session, Task
from executor.sessions.permissions import denials
from executor.sessions.permissions.requests import UNANSWERED, Permissions, refuse
from executor.sessions.processes import heartbeat, tokens
from executor.sessions.processes.credentials import end_credentials
from executor.sessions.processes.process import ExecutorProcess
from executor.sessions.processes.tokens import Issued
from executor.sessions.protocol.credentials import is_pty
from executor.sessions.protocol.lines import INVALID_REQUEST, RpcError
from executor.sessions.protocol.messages import SET_UP, ApiKey, ExecutePrompt, Permission, PromptResult
from executor.sessions.protocol.peer import Handler
from executor.sessions.transcripts.transcript import Draft
from executor.storage.database import Database
from executor.storage.sessions import sessions

if TYPE_CHECKING:
    from executor.sessions.tasks.runner import Runner

KINDS: dict[str, MessageKind] = {
    "text": "text", "thought": "thought", "tool_call": "tool_call", "plan": "plan", "usage": "usage",
    "notice": "notice", "commands": "commands",
}  # fmt: skip
ANSWER_SECONDS = 60.0  # beyond a task's own time
TERMINAL_SECONDS = 30.0
MAX_ID = 200
MAX_EARLY = 100
SHELL_EXITED = "its shell exited"


class ModelAccess(Protocol):
    """Virtual keys of one session. `socket` is where its agent reaches models, if not by the address of a key."""

    @property
    def socket(self) -> Path | None: ...

    @property
    def egress(self) -> Path | None:
        """Where its sandbox reaches the hosts that are allowed."""

    def take_budget_refusal(self) -> str:
        """Why no budget covered the agent's latest request since the last time; empty if it was let through."""

    async def issue(self, service: str) -> ApiKey: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class SpawnedTerminal:
    """`exit` has the code of its shell, if that is known, and why it ended."""

    conversation: Conversation
    id: str
    descriptor: int
    exit: asyncio.Future[tuple[int | None, str]]

    async def end(self) -> None:
        await self.conversation.end_terminal(self.id)


class Conversation:
    """One for each executor process."""

    def __init__(
        self,
        database: Database,
        permissions: Permissions,
        issued: Issued,
        models: ModelAccess,
        runner: Runner,
        key_id: str,
    ) -> None:
        self._database = database
        self._permissions = permissions
        self._issued = issued
        self._models = models
        self._runner = runner
        self._key_id = key_id
        self._process: ExecutorProcess | None = None
        self._watching: list[asyncio.Task[None]] = []
        self._stopping: asyncio.Task[bool] | None = None
        self._notices = 0
        self._terminals: dict[str, asyncio.Future[tuple[int | None, str]]] = {}
        self._spawning = 0
        self._early: dict[str, tuple[int | None, str]] = {}  # how terminals ended that are still being spawned

    @property
    def handlers(self) -> dict[str, Handler]:
        return {
            "get_api_key": self._get_api_key,
            "request_permission": self._request_permission,
            "report_message": self._report_message,
            "report_progress": self._report_progress,
            "report_error": self._report_error,
            "terminal_ended": self._terminal_ended,
        }

    def begin(self, process: ExecutorProcess, silent_seconds: float) -> None:
        self._process = process
        parts = heartbeat.watch(process, silent_seconds), self._end_lost_terminals(process)
        self._watching = [asyncio.create_task(one) for one in parts]

    def is_good(self, renew_ms: int) -> bool:
        alive = self._process is not None and self._process.is_alive
        return alive and self._issued.expires_at - now_ms() > renew_ms

    # -- from the daemon ----------------------------------------------------------------------------------------------

    async def execute(self, task: Task, task_ms: int) -> PromptResult:
        session = self._runner.session
        self._models.take_budget_refusal()  # of an earlier task
        unread = await denials.find_unread(self._database, session.id)
        params: ExecutePrompt = {
            "session_token": self._issued.token,
            "session_id": session.id,
            "task_id": task.id,
            "agentic_tool": session.agent,
            "prompt": task.prompt,
            "cwd": session.cwd,
            "tools": [],
            "permission_mode": session.permission_mode,
            "timeout_ms": task_ms,
            "stream": True,
            "resume": session.agent_session or None,
            "denials": [denials.text_of(one) for one in unread],
        }
        timeout = task_ms / 1000 + ANSWER_SECONDS
        result: PromptResult = await self._peer.call("execute_prompt", dict(params), timeout=timeout)
        if result.get("status") == "completed":  # any other may not have reached the agent
            await denials.mark_read(self._runner.transcript, unread)
        await self._runner.transcript.flush()
        await self._keep_agent_session(session, result.get("agent_session"))
        return fail_over_budget(result, self._models.take_budget_refusal())

    async def _keep_agent_session(self, session: Session, found: object) -> None:
        if isinstance(found, str) and found and found != session.agent_session:
            self._runner.transcript.show_session(
                await self._database.write(lambda c: sessions.change(c, session.id, agent_session=found))
            )

    async def stop_task(self, task_id: str, reason: str, seconds: float) -> None:
        params = {"session_token": self._issued.token, "task_id": task_id, "reason": reason}
        await self._peer.call("stop_task", params, timeout=seconds)

    async def spawn_terminal(self, size: tuple[int, int]) -> SpawnedTerminal:
        columns, rows = size
        params = {
            "session_token": self._issued.token, "cwd": self._runner.session.cwd, "cols": columns, "rows": rows,
            "env": {"LANG": "C.UTF-8"},
        }  # fmt: skip
        self._spawning += 1
        try:
            answer, descriptor = await self._peer.call_for_descriptor("spawn_terminal", params, TERMINAL_SECONDS)
            terminal_id = answer.get("terminal_id") if isinstance(answer, dict) else None
            if descriptor is None or not is_pty(descriptor) or not isinstance(terminal_id, str):
                if descriptor is not None:
                    os.close(descriptor)
                raise SessionFailed(
                    "the executor process passed no terminal", hint="run `executor doctor`, then try again"
                )
            exit = self._terminals[terminal_id] = asyncio.get_running_loop().create_future()
            if terminal_id in self._early:
                self._settle_terminal(terminal_id, *self._early.pop(terminal_id))
            return SpawnedTerminal(self, terminal_id, descriptor, exit)
        finally:
            self._spawning -= 1
            if not self._spawning:
                self._early.clear()

    async def end_terminal(self, terminal_id: str) -> None:
        params = {"session_token": self._issued.token, "terminal_id": terminal_id}
        await self._peer.call("terminate_terminal", params, timeout=TERMINAL_SECONDS)

    async def close(self, reason: str) -> None:
        """Nothing of the process is left afterwards, its keys and its token are void, and that is written down."""
        for task in self._watching:
            task.cancel()
        session_id = self._issued.session_id
        try:
            await self._models.close()
            await end_credentials(self._database, self._runner.session.workspace_id, session_id, self._key_id)
        finally:
            await self._end_process(reason)
        self._runner.transcript.show_session(
            await self._database.write(lambda c: sessions.change(c, session_id, process=None))
        )

    async def _end_process(self, reason: str) -> None:
        try:
            if self._process is not None:
                await self._process.stop(self._issued.token, reason)
        finally:
            self._settle_terminals(reason)

    @property
    def _peer(self) -> Any:
        if self._process is None:
            raise RuntimeError("the executor process has not begun")
        return self._process.peer

    # -- from the executor process ------------------------------------------------------------------------------------

    def _check(self, params: dict[str, Any], *, task: bool = False) -> Task | None:
        """The token, and for what belongs to a task that this is the one that runs."""
        if not self._issued.matches(params.get("session_token")):
            raise RpcError(INVALID_REQUEST, "the session token is wrong or has expired")
        current = self._runner.task
        if task and (current is None or params.get("task_id") != current.id):
            raise RpcError(INVALID_REQUEST, "this task is not running")
        return current

    async def _get_api_key(self, params: dict[str, Any]) -> ApiKey:
        self._check(params)
        await tokens.spend(self._database, self._issued, params.get("session_token"))
        return await self._models.issue(str(params.get("service"))[:MAX_ID])

    async def _request_permission(self, params: dict[str, Any]) -> Permission:
        task = self._check(params, task=True)
        if task is None:
            return refuse("no task is running")
        runner = self._runner
        await runner.transcript.flush()  # what it is about comes before it
        answer = await self._permissions.decide(
            runner.session, task, params, runner.transcript, seconds=runner.answer_seconds
        )
        if not answer["approved"] and answer.get("reason"):
            await denials.note(runner.transcript, task, params, answer["reason"])
        if answer.get("reason") == UNANSWERED and runner.session.unattended == "stop":
            self._stopping = asyncio.create_task(runner.cancel(task.id, UNANSWERED))
        return answer

    async def _report_message(self, params: dict[str, Any]) -> None:
        self._check(params)
        data = params.get("event_data")
        kind = KINDS.get(str(params.get("event_type")))
        if kind is None or not isinstance(data, dict):
            return  # newer than we are
        await self._runner.transcript.add(draft_of(kind, params.get("task_id"), params.get("sequence"), data))

    async def _report_progress(self, params: dict[str, Any]) -> None:
        self._check(params)
        if params.get("state") == SET_UP:
            session_id = self._runner.session.id
            self._runner.transcript.show_session(
                await self._database.write(lambda c: sessions.change(c, session_id, set_up_at=now_ms()))
            )

    async def _report_error(self, params: dict[str, Any]) -> None:
        self._check(params)
        self._notices += 1
        data = {name: str(params.get(name) or "")[:2000] for name in ("code", "hint")}
        text, task_id = str(params.get("message") or "")[:10_000], str(params.get("task_id") or "")
        draft = Draft(f"error-{now_ms()}-{self._notices}", "notice", task_id, text, {**data, "level": "error"})
        with suppress(RuntimeError):
            await self._runner.transcript.add(draft)

    async def _terminal_ended(self, params: dict[str, Any]) -> None:
        self._check(params)
        code = params.get("code")
        terminal_id, ending = str(params.get("terminal_id")), (code if isinstance(code, int) else None, SHELL_EXITED)
        if terminal_id in self._terminals:
            self._settle_terminal(terminal_id, *ending)
        elif self._spawning and len(self._early) < MAX_EARLY:  # a shell may end before the answer to its spawn is read
            self._early[terminal_id] = ending

    async def _end_lost_terminals(self, process: ExecutorProcess) -> None:
        await process.peer.wait_closed()
        self._settle_terminals("its process ended")

    def _settle_terminals(self, reason: str) -> None:
        for terminal_id in list(self._terminals):
            self._settle_terminal(terminal_id, None, reason)

    def _settle_terminal(self, terminal_id: str, code: int | None, reason: str) -> None:
        exit = self._terminals.pop(terminal_id, None)
        if exit is not None and not exit.done():
            exit.set_result((code, reason))


def draft_of(kind: MessageKind, task_id: object, sequence: object, data: dict[str, Any]) -> Draft:
    """Ids are the agent's own, and may come again in another task: they are kept apart by task."""
    task = task_id if isinstance(task_id, str) else ""
    own = str(data.get("id") or f"{kind}-{sequence}")[:MAX_ID]
    text = data.get("title" if kind == "tool_call" else "text")
    rest = {name: value for name, value in data.items() if name not in ("id", "text", "append")}
    appends = data.get("append") is True and kind in ("text", "thought")
    return Draft(f"{task}/{own}", kind, task, text if isinstance(text, str) else "", rest, appends)


def fail_over_budget(result: PromptResult, refusal: str) -> PromptResult:
    """An agent may show that a budget is exceeded as text, and take its turn for completed."""
    if result.get("status") != "completed" or not refusal:
        return result
    return {**result, "status": "failed", "error": {"code": "budget_exceeded", "message": refusal}}
