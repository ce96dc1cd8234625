"""Why requests of an agent were denied. ACP has no field for it, so the agent reads it with the next prompt.

Each is a notice of the transcript. It is unread until a prompt that carried it has completed, whichever process and
daemon that was: an agent may read one twice, but none is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Connection

from executor.model.sessions.session import Message, Task
from executor.sessions.transcripts.transcript import Draft, Transcript, start_of_task
from executor.storage.database import Database
from executor.storage.sessions import messages

MAX_TITLE = 200


async def note(transcript: Transcript, task: Task, params: Mapping[str, Any], reason: str) -> None:
    """`params` are those of the request."""
    call, title = (str(params.get(name) or "")[:MAX_TITLE] for name in ("tool_call_id", "title"))
    data = {"denied": title, "reason": reason, "isRead": False}
    await transcript.record([Draft(f"{task.id}/denied-{call}", "notice", task.id, f"Not permitted: {reason}", data)])


async def find_unread(database: Database, session_id: str) -> list[Message]:
    """A task that completed has read those before it, so only what came since it began is looked at."""

    def job(c: Connection) -> list[Message]:
        return messages.unread_notices(c, session_id, after=start_of_task(c, session_id, "completed"))

    return [one for one in await database.read(job) if one.data.get("isRead") is False]


async def mark_read(transcript: Transcript, unread: Sequence[Message]) -> None:
    if unread:
        read = [Draft(one.id, "notice", one.task_id, one.text, {**one.data, "isRead": True}) for one in unread]
        await transcript.record(read)


def text_of(record: Message) -> str:
    """For the agent."""
    return f"(Your request {record.data.get('denied')!r} was denied: {record.data.get('reason')})"
