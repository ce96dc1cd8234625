"""/v1/sessions/{id}/prompt and /tasks: prompts, queued and running."""

from __future__ import annotations

from fastapi import APIRouter

from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.idempotency import creates, note_created
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.sessions import EditedPrompt, PromptBody
from executor.surfaces.views.sessions import TaskView, task_view

router = APIRouter(route_class=EdgeRoute, tags=["sessions"], responses=PROBLEMS)
TASK = "/v1/sessions/{session_id}/tasks/{task_id}"


@router.post("/v1/sessions/{session_id}/prompt", status_code=202)
@router.post("/sessions/{session_id}/prompt", status_code=202, include_in_schema=False)
@creates
@needs("prompt")
async def prompt(here: Context, session_id: str, body: PromptBody) -> Answer[TaskView]:
    """Send a prompt. While another one runs, it is queued. With `wait`, the response comes when it has ended."""
    prompts = here.executor.sessions.prompts
    task = await prompts.send(here.actor, session_id, body.prompt, interrupt=body.interrupt)
    if body.wait:
        await note_created(here, task.id)
        task = await here.long_waits.hold(prompts.wait(here.actor, session_id, task.id, body.wait))
    return answer(task_view(task), 202)


@router.get(TASK)
@needs("prompt", "read")
async def show(here: Context, session_id: str, task_id: str) -> Answer[TaskView]:
    """Get a task: a prompt and what became of it."""
    return answer(task_view(await here.executor.sessions.prompts.find(here.actor, session_id, task_id)))


@router.patch(TASK)
@needs("prompt")
async def edit(here: Context, session_id: str, task_id: str, body: EditedPrompt) -> Answer[TaskView]:
    """Change a prompt that is still queued."""
    return answer(task_view(await here.executor.sessions.prompts.edit(here.actor, session_id, task_id, body.prompt)))


@router.delete(TASK)
@needs("prompt")
async def cancel(here: Context, session_id: str, task_id: str) -> Answer[TaskView]:
    """Remove a queued prompt, or stop the task that is running. The session continues with the next one."""
    return answer(task_view(await here.executor.sessions.prompts.cancel(here.actor, session_id, task_id)))
