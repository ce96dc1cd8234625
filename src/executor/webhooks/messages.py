"""What a webhook is sent of an event: its type and time, ids, a title, and the page to look at. Never arguments,
results, secrets or anyone's reasons."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from executor.model.event import Event
from executor.model.webhook import TEST

SUBJECT = 200  # characters of what others named
REQUESTS = {
    "approval": "An approval is pending",
    "credential": "A credential is required",
    "oauth": "A login is required",
    "elicitation": "A server requests input",
    "unknown_outcome": "The outcome of a call is unknown",
}
TITLES = {
    "interaction.approved": "A request was approved",
    "interaction.denied": "A request was denied",
    "interaction.expired": "A request expired",
    "interaction.cancelled": "A request was withdrawn",
    "execution.paused": "An execution is paused",
    "execution.completed": "An execution completed",
    "execution.failed": "An execution failed",
    "execution.cancelled": "An execution was cancelled",
    "source.failing": "A source can't be read",
    "connection.marked": "The status of a connection changed",
    "agent_session.started": "An agent session started",
    "agent_session.task_ended": "A task of an agent session ended",
    "agent_session.stopped": "An agent session was stopped",
    "webhook.disabled": "A webhook was disabled",
    TEST: "This is a test message from Executor",
}
Data = dict[str, Any]
# Beside the title, what others named: a tool, a source, a connection. Of a task, how it ended.
SUBJECTS: dict[str, Callable[[Data], Any]] = {
    "interaction": lambda data: data.get("tool"),
    "source": lambda data: data.get("namespace"),
    "connection": lambda data: data.get("name"),
    "agent_session": lambda data: data.get("status"),
    "webhook": lambda data: data.get("name"),
}


def compose(event: Event, address: str) -> dict[str, Any]:
    """`address` is where people find this Executor."""
    noun, data = event.type.partition(".")[0], event.data
    ids = ids_of(event, noun)
    subject = one_line(SUBJECTS[noun](data) if noun in SUBJECTS else "")
    content = {
        "title": title_of(event),
        **({"subject": subject} if subject else {}),
        "url": address + page_of(noun, data, ids),
        "workspaceId": event.workspace_id,
        **ids,
    }
    return {"type": event.type, "timestamp": time_text(event.at), "data": content}


def title_of(event: Event) -> str:
    """Words of our own only."""
    if event.type != "interaction.requested":
        return TITLES[event.type]
    kind = str(event.data.get("kind"))
    if kind == "approval" and event.data.get("sessionId"):
        return "An agent requests permission"
    return REQUESTS.get(kind, "A request is pending")


def ids_of(event: Event, noun: str) -> dict[str, str]:
    data = event.data
    found = {
        "eventId": str(event.id) if event.id else "",
        "executionId": event.execution_id,
        "sessionId": data.get("sessionId"),
        "taskId": data.get("taskId"),
    }
    if noun in ("interaction", "source", "connection", "webhook"):
        found[f"{noun}Id"] = data.get("id")
    return {name: str(value) for name, value in found.items() if value}


def page_of(noun: str, data: Data, ids: dict[str, str]) -> str:
    if noun == "interaction":
        page = "connect" if data.get("kind") in ("credential", "oauth") else "approvals"
        return f"/{page}/{quote(ids.get('interactionId', ''), safe='')}"
    for name, page in (("executionId", "executions"), ("sessionId", "sessions"), ("sourceId", "sources")):
        if name in ids:
            return f"/{page}/{quote(ids[name], safe='')}"
    return "/settings?tab=webhooks" if noun == "webhook" else "/sources"


def one_line(value: Any) -> str:
    text = "" if value is None else str(value)
    return "".join(char if char.isprintable() else " " for char in text)[:SUBJECT].strip()


def time_text(milliseconds: int) -> str:
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
