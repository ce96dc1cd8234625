"""Transcripts: nothing that an agent said is lost to a refusal, and what is read does not grow with the history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from executor.errors import Conflict
from executor.model.ids import new_id, now_ms
from executor.model.sessions.session import Task
from executor.sessions.permissions import denials
from executor.sessions.tasks.runner import task_record
from executor.sessions.transcripts.transcript import Draft, start_of_task
from executor.storage.sessions import messages, tasks
from tests.sessions.tasks.stand_in import Place, sessions_in


async def add_task(place: Place, session_id: str, number: int, **fields: Any) -> Task:
    task = Task(
        new_id("task"), session_id, place.by.workspace_id, place.by.id, number, "hello", "completed", now_ms(), **fields
    )
    await place.database.write(lambda c: tasks.insert(c, task))
    return task


async def test_what_an_agent_said_is_kept_when_a_prompt_is_refused_at_that_moment(tmp_path: Path) -> None:
    def refuse(c: Any) -> None:
        raise Conflict("too many prompts are queued")

    async with sessions_in(tmp_path) as place:
        session = await place.start()
        transcript = await place.sessions.transcripts.of(session)
        await transcript.add(Draft("t/1", "text", "t", "Hello ", appends=True))
        with pytest.raises(Conflict):
            await transcript.record([Draft("t/2", "prompt", "t")], refuse)
        await transcript.add(Draft("t/1", "text", "t", "world", appends=True))
        await transcript.flush()
        found = await place.database.read(lambda c: messages.after(c, session.id, 0, 10))
        assert [(one.id, one.text) for one in found] == [("t/1", "Hello world")]


async def test_denials_are_looked_for_since_the_last_task_that_completed(tmp_path: Path) -> None:
    async with sessions_in(tmp_path) as place:
        session = await place.start()
        transcript = await place.sessions.transcripts.of(session)
        first, last = [await add_task(place, session.id, number) for number in (1, 2)]
        for task in (first, last):
            await transcript.record([task_record(task, "completed")])
            await denials.note(transcript, task, {"tool_call_id": "1", "title": task.id}, "no")
        found = await denials.find_unread(place.database, session.id)
        assert [one.data["denied"] for one in found] == [last.id]
        prompt = await place.database.read(lambda c: messages.get(c, session.id, last.id))
        assert prompt is not None
        assert await place.database.read(lambda c: start_of_task(c, session.id, "completed")) == prompt.position
        assert await place.database.read(lambda c: start_of_task(c, session.id, "running")) == 0
