"""The one session of an executor process: its agent, the task that runs, and how both are ended."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from executor.errors import AgentUnavailable, Conflict, ExecutorError, InvalidRequest, NotFound
from executor.sessions.agents.agent import RANKS, Agent
from executor.sessions.agents.options import READ_ONLY, policy_name
from executor.sessions.agents.records import Record, ToolCall
from executor.sessions.agents.table import find_agent
from executor.sessions.agents.usage import read_usage
from executor.sessions.host.daemon_link import DaemonLink
from executor.sessions.host.running_agent import RunningAgent
from executor.sessions.host.setup_script import run_setup
from executor.sessions.protocol.host_settings import HostSettings
from executor.sessions.protocol.lines import RpcError
from executor.sessions.protocol.messages import SET_UP, PermissionMode, PromptResult, Stopped
from executor.sessions.protocol.peer import ConnectionClosed

CANCEL_SECONDS = 5.0  # for the agent to end its turn
TERM_SECONDS = 3.0  # for its processes to end
END_SECONDS = 1.0  # for a process that closed its output to end, so that its code is known
TIMEOUT = "timeout"
MAX_PROMPT = 4 * 2**20


@dataclass
class Prompt:
    task_id: str
    text: str
    cwd: str
    agent: Agent
    mode: PermissionMode
    tools: list[str]
    seconds: float | None
    stream: bool
    resume: str | None
    denials: list[str]


@dataclass
class Task:
    prompt: Prompt
    messages: int = 0
    stopped: str = ""
    texts: dict[str, Record] = field(default_factory=dict)  # held back until the turn ends, without `stream`
    work: asyncio.Task[PromptResult] = field(init=False)
    expiry: asyncio.Task[Stopped] | None = None


class Session:
    def __init__(self, settings: HostSettings, link: DaemonLink) -> None:
        self._settings, self._link = settings, link
        self._running: RunningAgent | None = None
        self._task: Task | None = None
        self._last_task = ""
        self._agent_session: str | None = None
        self._identity: tuple[str, str] | None = None
        self._limits_passed = ""

    # -- prompts --------------------------------------------------------------

    async def execute(self, params: dict[str, Any]) -> PromptResult:
        prompt = read_prompt(params, self._settings)
        if self._task is not None:
            raise Conflict(f"task {self._task.prompt.task_id} is still running", hint="wait for it, or stop it first")
        if self._identity not in (None, (prompt.agent.name, prompt.cwd)):
            raise Conflict("a session keeps its agent and its directory", hint="start another session")
        self._identity = (prompt.agent.name, prompt.cwd)
        task = self._task = Task(prompt)
        self._last_task = prompt.task_id
        task.work = asyncio.create_task(self._run_turn(task))
        timer = self._set_timer(task)
        try:
            await asyncio.wait([task.work])
            return self._outcome(task)
        except asyncio.CancelledError:  # the daemon is gone
            task.work.cancel()
            await self._end_agent(0)
            raise
        finally:
            self._task = None
            if self._running is not None:
                self._running.conversation.reader.end_task()
            if timer is not None:
                timer.cancel()

    def _set_timer(self, task: Task) -> asyncio.TimerHandle | None:
        if task.prompt.seconds is None:
            return None
        loop = asyncio.get_running_loop()

        def expire() -> None:
            task.expiry = loop.create_task(self._stop(task, TIMEOUT))

        return loop.call_later(task.prompt.seconds, expire)

    def _outcome(self, task: Task) -> PromptResult:
        result = None if task.work.cancelled() else task.work.result()
        if task.stopped == TIMEOUT:
            result = self._result(task, "failed")
            seconds = task.prompt.seconds
            result["error"] = {
                "code": "timeout",
                "message": f"the task took longer than {seconds:g} s, and was stopped",
            }
        elif task.stopped or result is None:
            result = self._result(task, "cancelled")
        return result

    async def _run_turn(self, task: Task) -> PromptResult:
        prompt = task.prompt
        try:
            await self._link.report_progress(prompt.task_id, "starting")
            running = await self._ensure_agent(prompt)
            await self._link.report_progress(prompt.task_id, "running")
            answer = await running.conversation.prompt(prompt.text, *prompt.denials)
            return await self._finish(task, running, answer)
        except ConnectionClosed as error:
            return await self._explain_end(task, error)
        except RpcError as error:
            return self._failure(task, "agent_failed", error.message[:2000])
        except ExecutorError as error:
            await self._end_agent(0)
            return self._failure(task, error.code, error.message, error.hint)

    async def _ensure_agent(self, prompt: Prompt) -> RunningAgent:
        running = self._running
        if running is not None and not running.is_alive:
            await self._end_agent(0)
            running = None
        if running is None:
            self._limits_passed = ""
            await self._set_up(prompt)
            running = self._running = await RunningAgent.start(
                prompt.agent, self._settings, prompt.cwd, prompt.mode, self._link, self._report, self._ask,
                self._agent_session or prompt.resume,
            )  # fmt: skip
            self._agent_session = running.conversation.session
        else:
            await running.conversation.set_mode(prompt.mode)
        running.conversation.reader.begin_task()
        return running

    async def _set_up(self, prompt: Prompt) -> None:
        script = self._settings.get("setup")
        if script is None:
            return
        await run_setup(script, prompt.agent, self._settings, prompt.cwd, self._report)
        del self._settings["setup"]
        await self._link.report_progress(prompt.task_id, SET_UP)

    async def _finish(self, task: Task, running: RunningAgent, answer: dict[str, Any]) -> PromptResult:
        for record in task.texts.values():
            await self._link.report(task.prompt.task_id, record)
        reason = str(answer.get("stopReason") or "")
        if usage := read_usage(answer):
            await self._report(Record("usage", {"id": "turn", **usage}))
        status = "cancelled" if reason == "cancelled" else "completed"
        result = self._result(task, status, stop_reason=reason, resumed=running.conversation.resumed)
        if usage:
            result["token_usage"] = usage
        if reason == "refusal":
            result |= {"status": "failed", "error": {"code": "refused", "message": "the model refused to continue"}}
        return result

    async def _explain_end(self, task: Task, error: ConnectionClosed) -> PromptResult:
        """The agent's processes are ended for certain before anything is said."""
        running = self._running
        if running is None:
            return self._failure(task, "agent_failed", error.reason)
        await asyncio.wait([running.process.ending], timeout=END_SECONDS)
        words, failure = running.last_words, running.conversation.failure
        _, ending = await self._end_agent(0)
        if ending and ending.limit:
            return self._failure(task, "limit_exceeded", f"the agent was ended: it passed its limit of {ending.limit}")
        if failure:
            return self._failure(task, "mode_changed", failure)
        code = "" if ending is None or ending.code is None else f" with code {ending.code}"
        message = f"{task.prompt.agent.title} ended{code} in the middle of its turn ({error.reason})"
        return self._failure(task, "agent_failed", f"{message}: {words}" if words else message)

    def _failure(self, task: Task, code: str, message: str, hint: str = "") -> PromptResult:
        result = self._result(task, "failed")
        result["error"] = {"code": code, "message": f"{message}; {hint}" if hint else message}
        return result

    def _result(self, task: Task, status: str, **fields: Any) -> PromptResult:
        result: dict[str, Any] = {"status": status, "message_count": task.messages, **fields}
        if self._agent_session:
            result["agent_session"] = self._agent_session
        return result  # type: ignore[return-value]

    # -- from the agent -------------------------------------------------------

    async def _report(self, record: Record) -> None:
        """What comes after the end of a turn still belongs to the last task."""
        task = self._task
        if task is None:
            await self._link.report(self._last_task, record)
            return
        task.messages += 1
        if task.prompt.stream or record.kind not in ("text", "thought"):
            await self._link.report(task.prompt.task_id, record)
            return
        held = task.texts.get(record.data["id"])
        text = (held.data["text"] if held else "") + record.data["text"]
        task.texts[record.data["id"]] = Record(record.kind, {"id": record.data["id"], "text": text})

    async def _ask(self, tool: ToolCall) -> bool:
        """Requests of subagents and of background work come here too."""
        task, running = self._task, self._running
        task_id = task.prompt.task_id if task else self._last_task
        if task and task.prompt.tools and policy_name(tool) not in task.prompt.tools:
            return False
        if (
            task
            and task.prompt.mode == "plan"
            and task.prompt.agent.plan_is_ours
            and policy_name(tool) not in READ_ONLY
        ):
            return False
        if running is not None and running.is_ours(tool):
            return True
        await self._link.report_progress(task_id, "waiting", tool.title)
        approved = await self._link.request_permission(task_id, tool, running.place.cwd if running else "")
        await self._link.report_progress(task_id, "running")
        return approved

    # -- stopping -------------------------------------------------------------

    async def stop_task(self, task_id: str, reason: str) -> Stopped:
        task = self._task
        if task is None or task.prompt.task_id != task_id:
            if task_id == self._last_task:
                return {"stopped": True, "how": "idle", "absent": False}
            raise NotFound(f"task {task_id!r} is not running here")
        return await self._stop(task, reason or "stopped")

    async def _stop(self, task: Task, reason: str) -> Stopped:
        """Cancelled if the agent listens; else its processes are ended, gently, then by force, and it is verified."""
        task.stopped = task.stopped or reason
        await self._link.report_progress(task.prompt.task_id, "stopping", reason)
        running = self._running
        if running is not None and running.is_alive:
            with suppress(ConnectionClosed):
                await running.conversation.cancel()
            await asyncio.wait([task.work], timeout=CANCEL_SECONDS)
            if task.work.done() and self._running is running:
                return {"stopped": True, "how": "cancelled", "absent": False}
        task.work.cancel()
        how, ending = await self._end_agent(TERM_SECONDS)
        await asyncio.wait([task.work])
        return {"stopped": True, "how": how, "absent": ending is None or ending.absent}

    async def _end_agent(self, grace: float) -> Any:
        running, self._running = self._running, None
        if running is None:
            return "terminated", None
        how, ending = await running.stop(grace)
        for path in running.place.changed_links:
            await self._link.report_error(
                self._last_task, "link_changed", f"{path} was replaced, and has been restored"
            )
        if not ending.absent:
            await self._link.report_error(self._last_task, "not_absent", "processes of the agent could not be ended")
        return how, ending

    async def close(self) -> bool:
        """Whether nothing of the agent is left."""
        if self._task is not None:
            self._task.stopped = self._task.stopped or "shutdown"
            self._task.work.cancel()
        _, ending = await self._end_agent(TERM_SECONDS)
        return ending is None or ending.absent


def read_prompt(params: dict[str, Any], settings: HostSettings) -> Prompt:
    """Raises InvalidRequest for what no prompt can be."""

    def text(name: str, *, required: bool = True) -> str:
        value = params.get(name)
        if not isinstance(value, str) or (required and not value):
            raise InvalidRequest(f"{name} must be a text", hint="see the messages in docs/sessions.md")
        return value

    mode: PermissionMode = params.get("permission_mode") or "default"
    tools, denials, timeout = params.get("tools") or [], params.get("denials") or [], params.get("timeout_ms")
    if mode not in RANKS:
        raise InvalidRequest(
            f"there is no permission mode {str(mode)[:100]!r}", hint=f"choose one of {', '.join(RANKS)}"
        )
    if not is_texts(tools) or not is_texts(denials):
        raise InvalidRequest("tools and denials must be lists of texts")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int) or timeout <= 0):
        raise InvalidRequest("timeout_ms must be a positive number of milliseconds")
    if len(text("prompt")) > MAX_PROMPT:
        raise InvalidRequest(f"the prompt is longer than {MAX_PROMPT} characters")
    if text("session_id") != settings["session_id"]:
        raise InvalidRequest("this executor process belongs to another session")
    resume = params.get("resume")
    return Prompt(
        task_id=text("task_id"),
        text=text("prompt"),
        cwd=text("cwd"),
        agent=_agent(text("agentic_tool"), settings),
        mode=mode,
        tools=tools,
        seconds=timeout / 1000 if timeout else None,
        stream=params.get("stream", True) is not False,
        resume=resume if isinstance(resume, str) and resume else None,
        denials=denials,
    )


def is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _agent(name: str, settings: HostSettings) -> Agent:
    try:
        return find_agent(name, settings.get("agents", {}))
    except AgentUnavailable as error:
        raise InvalidRequest(error.message, hint=error.hint) from None
