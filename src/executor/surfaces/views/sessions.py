"""Agent sessions: the list, one with its tasks, the transcript, and what was changed in a repository."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NotRequired, cast

from typing_extensions import TypedDict

from executor.model.sessions.model_usage import NANODOLLARS
from executor.model.sessions.session import (
    Isolation,
    Message,
    MessageKind,
    PermissionMode,
    Session,
    SessionStatus,
    Task,
    TaskStatus,
    Unattended,
)
from executor.surfaces.views.base import Failure, time

if TYPE_CHECKING:
    from executor.sessions.agents.installation import Presence
    from executor.sessions.history import Summary
    from executor.sessions.repositories.changes import Changes

USAGE = ("input", "output", "cache_read", "cache_write")


class UsageView(TypedDict):
    """Tokens. Of a session: as the model proxy counts them. Of a task: as the agent reports them."""

    input: int
    output: int
    cacheRead: int
    cacheWrite: int


class BudgetView(TypedDict):
    usd: float | None


class AgentSession(TypedDict):
    id: str
    agent: str
    status: SessionStatus
    title: str
    isolation: Isolation
    permissionMode: PermissionMode
    unattended: Unattended
    model: str | None
    cwd: str
    repository: str | None
    branch: str | None
    base: str | None
    unixUser: str | None
    cloneRemovedAt: str | None
    snapshot: str | None
    budget: BudgetView
    actorId: str
    agentId: str
    parentId: str | None
    pid: int | None
    createdAt: str
    updatedAt: str
    archivedAt: str | None
    actor: NotRequired[str | None]
    usage: NotRequired[UsageView]
    costUsd: NotRequired[float]
    url: NotRequired[str]


class TaskView(TypedDict):
    id: str
    sessionId: str
    number: int
    prompt: str
    status: TaskStatus
    actorId: str
    createdAt: str
    startedAt: str | None
    finishedAt: str | None
    usage: UsageView | None
    failure: Failure | None


class AgentSessionDetails(AgentSession):
    tasks: list[TaskView]


class AgentSessionPage(TypedDict):
    items: list[AgentSession]
    next: str | None
    partial: bool


class MessageView(TypedDict):
    """Show records by `position`. One that comes again under its `id` replaces the one before."""

    id: str
    sessionId: str
    sequence: int
    position: int
    taskId: str | None
    kind: MessageKind
    text: str
    data: dict[str, Any]
    createdAt: str
    updatedAt: str


class AppendView(TypedDict):
    """More text of a record."""

    id: str
    sequence: int
    text: str


class MessagePage(TypedDict):
    """`next` is the `after` of the following page; None at the end."""

    items: list[MessageView]
    next: int | None


class FoundMessages(TypedDict):
    items: list[MessageView]


class WorkFile(TypedDict):
    """`runs` says what will execute the file; None for a file that nothing executes by its name."""

    path: str
    status: str
    added: int | None
    removed: int | None
    runs: str | None


class WorkChanges(TypedDict):
    base: str
    branch: str
    files: list[WorkFile]
    diff: str
    cut: bool


class CommitView(TypedDict):
    commit: str
    branch: str


class SnapshotView(TypedDict):
    """`snapshot` says where the work is kept; None if there was none."""

    snapshot: str | None


class RepositoriesView(TypedDict):
    items: list[str]


class SessionAgent(TypedDict):
    """`problem` says why it can't be started now. `modes` are the permission modes that it has."""

    name: str
    title: str
    provider: str | None
    modes: list[str]
    version: str | None
    problem: str | None
    hint: str | None


class SessionAgents(TypedDict):
    items: list[SessionAgent]


def agent_view(found: Presence) -> SessionAgent:
    return {
        "name": found.agent.name,
        "title": found.agent.title,
        "provider": found.agent.service,
        "modes": list(found.agent.modes),
        "version": found.version or None,
        "problem": found.problem or None,
        "hint": found.hint or None,
    }


def session_view(session: Session) -> AgentSession:
    return {
        "id": session.id,
        "agent": session.agent,
        "status": session.status,
        "title": session.title,
        "isolation": session.isolation,
        "permissionMode": session.permission_mode,
        "unattended": session.unattended,
        "model": session.model or None,
        "cwd": session.cwd,
        "repository": session.repository or None,
        "branch": session.branch or None,
        "base": session.base or None,
        "unixUser": session.unix_user or None,
        "cloneRemovedAt": time(session.removed_at),
        "snapshot": session.snapshot or None,
        "budget": {"usd": session.budget.usd},
        "actorId": session.actor_id,
        "agentId": session.agent_id,
        "parentId": session.parent_id or None,
        "pid": session.process.pid if session.process else None,
        "createdAt": time(session.created_at),
        "updatedAt": time(session.updated_at),
        "archivedAt": time(session.archived_at),
    }


def summary_view(summary: Summary, base_url: str) -> AgentSession:
    session = summary.session
    return {
        **session_view(session),
        "actor": summary.actor or None,
        "usage": usage_view(summary.usage),
        "costUsd": summary.cost / NANODOLLARS,
        "url": f"{base_url}/sessions/{session.id}",
    }


def details_view(summary: Summary, tasks: Iterable[Task], base_url: str) -> AgentSessionDetails:
    return {**summary_view(summary, base_url), "tasks": [task_view(task) for task in tasks]}


def task_view(task: Task) -> TaskView:
    return {
        "id": task.id,
        "sessionId": task.session_id,
        "number": task.number,
        "prompt": task.prompt,
        "status": task.status,
        "actorId": task.actor_id,
        "createdAt": time(task.created_at),
        "startedAt": time(task.started_at),
        "finishedAt": time(task.finished_at),
        "usage": usage_view([task.usage]) if task.usage else None,
        "failure": cast("Failure | None", task.failure),
    }


def usage_view(used: Iterable[dict[str, Any]]) -> UsageView:
    """All together."""
    totals = dict.fromkeys(USAGE, 0)
    for one in used:
        for name in USAGE:
            value = one.get(name)
            totals[name] += value if isinstance(value, int) else 0
    return {
        "input": totals["input"],
        "output": totals["output"],
        "cacheRead": totals["cache_read"],
        "cacheWrite": totals["cache_write"],
    }


def message_view(message: Message) -> MessageView:
    return {
        "id": message.id,
        "sessionId": message.session_id,
        "sequence": message.sequence,
        "position": message.position,
        "taskId": message.task_id or None,
        "kind": message.kind,
        "text": message.text,
        "data": message.data,
        "createdAt": time(message.created_at),
        "updatedAt": time(message.updated_at),
    }


def append_view(message: Message) -> AppendView:
    return {"id": message.id, "sequence": message.sequence, "text": message.text}


def changes_view(session: Session, changes: Changes) -> WorkChanges:
    files: list[WorkFile] = [
        {"path": one.path, "status": one.status, "added": one.added, "removed": one.removed, "runs": one.runs or None}
        for one in changes.files
    ]
    return {
        "base": session.base,
        "branch": session.branch,
        "files": files,
        "diff": changes.diff,
        "cut": changes.is_cut,
    }
