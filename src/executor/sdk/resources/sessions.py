"""Sessions: coding agents in isolated processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, cast

from executor.sdk.exchange import Event
from executor.sdk.execution import Interaction
from executor.sdk.flow import Emissions, Flow, K, Method, Request, Stream
from executor.sdk.message import segment
from executor.sdk.resources.resource import Resource, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor.model.sessions.session import Isolation, PermissionMode, SessionStatus, Unattended
    from executor.surfaces.views.sessions import (
        AgentSessionDetails,
        AgentSessionPage,
        MessagePage,
        SessionAgent,
        SnapshotView,
        TaskView,
        WorkChanges,
    )

MOST_WAIT = 600.0
SLACK_SECONDS = 60.0


class SessionEvent(NamedTuple):
    """`message`: a record, new or replaced · `append`: more `text` of record `id` · `session`: the session now."""

    type: Literal["message", "append", "session"]
    data: dict[str, Any]


class Sessions(Resource[K], Generic[K]):
    @Method
    def start(
        self,
        agent: str,
        *,
        cwd: str = "",
        repository: str = "",
        prompt: str | None = None,
        isolation: Isolation | None = None,
        permission_mode: PermissionMode = "default",
        unattended: Unattended | None = None,
        budget_usd: float | None = None,
        model: str = "",
        title: str = "",
    ) -> Flow[AgentSessionDetails]:
        """`cwd` is a directory of the daemon's machine. Its process starts with the first prompt."""
        body = {
            "agent": agent,
            "cwd": cwd,
            "repository": repository,
            "prompt": prompt,
            "isolation": isolation,
            "permissionMode": permission_mode,
            "unattended": unattended,
            "budget": None if budget_usd is None else {"usd": budget_usd},
            "model": model,
            "title": title,
        }
        started: AgentSessionDetails = yield from self._create("/v1/sessions", body, self._find)
        return started

    @Method
    def list(
        self,
        *,
        status: Sequence[SessionStatus] = (),
        agent: str = "",
        mine: bool = False,
        archived: bool = False,
        limit: int = 50,
        before: str = "",
    ) -> Flow[AgentSessionPage]:
        """Newest first. `next` is the `before` of the following page."""
        asked = {"agent": agent, "mine": mine or None, "archived": archived or None, "limit": limit, "before": before}
        found: AgentSessionPage = yield from self._get("/v1/sessions", status=[*status], **asked)
        return found

    @Method
    def get(self, id: str) -> Flow[AgentSessionDetails]:
        """With its last 50 tasks."""
        return (yield from self._find(id))

    def _find(self, id: str) -> Flow[AgentSessionDetails]:
        found: AgentSessionDetails = yield from self._get(f"/v1/sessions/{segment(id)}")
        return found

    @Method
    def prompt(self, id: str, prompt: str, *, wait: float = 0, interrupt: bool = False) -> Flow[TaskView]:
        """Send a prompt; while another runs, it is queued. `wait` seconds for it to end, at most 600."""
        wait = min(wait, MOST_WAIT)
        body, seconds = {"prompt": prompt, "interrupt": interrupt, "wait": wait}, wait + SLACK_SECONDS
        path = f"/v1/sessions/{segment(id)}/prompt"
        task: TaskView = yield from self._create(path, body, lambda task: self._find_task(id, task), seconds=seconds)
        return task

    @Method
    def task(self, id: str, task_id: str) -> Flow[TaskView]:
        return (yield from self._find_task(id, task_id))

    def _find_task(self, id: str, task_id: str) -> Flow[TaskView]:
        task: TaskView = yield from self._get(f"/v1/sessions/{segment(id)}/tasks/{segment(task_id)}")
        return task

    @Method
    def cancel_task(self, id: str, task_id: str) -> Flow[TaskView]:
        """Remove a queued prompt, or stop the task that runs."""
        task: TaskView = yield from self._delete(f"/v1/sessions/{segment(id)}/tasks/{segment(task_id)}")
        return task

    @Method
    def messages(self, id: str, *, after: int = 0, limit: int = 500) -> Flow[MessagePage]:
        """The transcript. `next` is the `after` of the following page."""
        found: MessagePage = yield from self._get(f"/v1/sessions/{segment(id)}/messages", after=after, limit=limit)
        return found

    @Stream
    def stream(self, id: str, *, after: int = 0) -> Emissions[SessionEvent]:
        """The transcript as it is written, from the first record on or `after` a sequence. It does not end: stop when
        you have seen enough, such as a `session` whose status is `idle`."""
        request = Request("GET", f"/v1/sessions/{segment(id)}/messages", {"after": after})
        yield from self._client._exchange.follow(request, read_session_event)

    @Method
    def stop(self, id: str, reason: str = "") -> Flow[AgentSessionDetails]:
        """End its task and its processes. The transcript stays."""
        stopped: AgentSessionDetails = yield from self._post(f"/v1/sessions/{segment(id)}/stop", {"reason": reason})
        return stopped

    @Method
    def resume(self, id: str) -> Flow[AgentSessionDetails]:
        """Let it take prompts again."""
        resumed: AgentSessionDetails = yield from self._post(f"/v1/sessions/{segment(id)}/resume")
        return resumed

    @Method
    def fork(self, id: str) -> Flow[AgentSessionDetails]:
        """Start a session that continues from this one, if its agent supports that."""
        forked: AgentSessionDetails = yield from self._create(f"/v1/sessions/{segment(id)}/fork", {}, self._find)
        return forked

    @Method
    def archive(self, id: str) -> Flow[AgentSessionDetails]:
        """Stop it, and leave it out of the list."""
        archived: AgentSessionDetails = yield from self._post(f"/v1/sessions/{segment(id)}/archive")
        return archived

    @Method
    def delete(self, id: str) -> Flow[SnapshotView]:
        """Delete it with its transcript. `snapshot` says where work in its repository is kept."""
        deleted: SnapshotView = yield from self._delete(f"/v1/sessions/{segment(id)}")
        return deleted

    @Method
    def changes(self, id: str) -> Flow[WorkChanges]:
        """What it changed in its repository."""
        found: WorkChanges = yield from self._get(f"/v1/sessions/{segment(id)}/changes")
        return found

    @Method
    def agents(self) -> Flow[Rows[SessionAgent]]:
        """The agents that sessions can be started with; `problem` says why one can't be started now."""
        found: Rows[SessionAgent] = (yield from self._get("/v1/sessions/agents"))["items"]
        return found

    @Method
    def permissions(self, id: str) -> Flow[Rows[Interaction]]:
        """Its pending permission requests. Settle them with `interactions.approve` and `interactions.deny`."""
        found = yield from self._get("/v1/interactions", status="pending", limit=500)
        has_pages = self._client._host is None
        return [Interaction.read(one, has_pages=has_pages) for one in found["items"] if one["sessionId"] == id]


def read_session_event(event: Event) -> SessionEvent:
    return SessionEvent(cast("Literal['message', 'append', 'session']", event.type), event.data)
