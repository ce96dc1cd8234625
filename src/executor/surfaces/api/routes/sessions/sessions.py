"""/v1/sessions: start agent sessions, look at them, end them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from executor.model.sessions.session import Budget, NewSession, SessionFilter
from executor.sessions import history
from executor.sessions.tasks.prompts import check_prompt
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.idempotency import creates, note_created
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.sessions import LookingForSessions, NewSessionBody, StopBody
from executor.surfaces.views import sessions as views

router = APIRouter(prefix="/v1/sessions", route_class=EdgeRoute, tags=["sessions"], responses=PROBLEMS)


@router.post("", status_code=201)
@creates
@needs("prompt")
async def start(here: Context, body: NewSessionBody) -> Answer[views.AgentSessionDetails]:
    """Start a session. Its executor process starts with the first prompt."""
    if body.prompt is not None:
        check_prompt(body.prompt)  # first: a request that is refused leaves no session
    fields = body.model_dump(exclude={"budget", "prompt"})
    budget = Budget(body.budget.usd if body.budget else None)
    session = await here.executor.sessions.creation.create(here.actor, NewSession(**fields, budget=budget))
    if body.prompt is not None:
        await note_created(here, session.id)
        await here.executor.sessions.prompts.send(here.actor, session.id, body.prompt)
    return await _details(here, session.id, 201)


@router.get("")
@needs("prompt", "read")
async def page(here: Context, looking: Annotated[LookingForSessions, Query()]) -> Answer[views.AgentSessionPage]:
    """List sessions, newest first. `next` is the `before` of the following page."""
    wanted = SessionFilter(
        tuple(looking.status), looking.agent, here.actor.id if looking.mine else "", archived=looking.archived
    )
    found = await history.search(here.executor.database, here.actor, wanted, limit=looking.limit, before=looking.before)
    items = [views.summary_view(one, here.executor.settings.address) for one in found]
    return answer({"items": items, "next": found.next, "partial": found.partial})


@router.get("/agents")
@needs("prompt", "read")
async def agents(here: Context) -> Answer[views.SessionAgents]:
    """List the agents that a session can be started with. `problem` says why one can't be started now."""
    return answer({"items": [views.agent_view(one) for one in await here.executor.sessions.list_agents()]})


@router.get("/repositories")
@needs("prompt")
async def repositories(here: Context) -> Answer[views.RepositoriesView]:
    """List the names of the repositories that a session can be started with."""
    return answer({"items": here.executor.sessions.checkouts.names})


@router.get("/{session_id}")
@needs("prompt", "read")
async def show(here: Context, session_id: str) -> Answer[views.AgentSessionDetails]:
    """Get a session with its last 50 tasks."""
    return await _details(here, session_id)


@router.post("/{session_id}/stop")
@needs("prompt")
async def stop(here: Context, session_id: str, body: StopBody | None = None) -> Answer[views.AgentSessionDetails]:
    """Stop a session: its task, its process and everything that the process started. The transcript stays."""
    await here.executor.sessions.stop(here.actor, session_id, body.reason if body else "")
    return await _details(here, session_id)


@router.post("/{session_id}/resume")
@needs("prompt")
async def resume(here: Context, session_id: str) -> Answer[views.AgentSessionDetails]:
    """Let a stopped or archived session take prompts again."""
    await here.executor.sessions.resume(here.actor, session_id)
    return await _details(here, session_id)


@router.post("/{session_id}/fork", status_code=201)
@creates
@needs("prompt")
async def fork(here: Context, session_id: str) -> Answer[views.AgentSessionDetails]:
    """Start a session that continues from this one, if its agent supports that."""
    forked = await here.executor.sessions.fork(here.actor, session_id)
    return await _details(here, forked.id, 201)


@router.post("/{session_id}/archive")
@needs("prompt")
async def archive(here: Context, session_id: str) -> Answer[views.AgentSessionDetails]:
    """Stop a session, and leave it out of the list."""
    await here.executor.sessions.archive(here.actor, session_id)
    return await _details(here, session_id)


@router.delete("/{session_id}")
@needs("prompt")
async def delete(here: Context, session_id: str) -> Answer[views.SnapshotView]:
    """Delete a session with its transcript. Work in its repository is kept there, and `snapshot` says under which
    reference."""
    return answer({"snapshot": await here.executor.sessions.delete(here.actor, session_id) or None})


async def _details(here: Context, session_id: str, status: int = 200) -> Answer[views.AgentSessionDetails]:
    summary, tasks = await history.show(here.executor.database, here.actor, session_id)
    headers = {"Location": f"/v1/sessions/{session_id}"} if status == 201 else None
    return answer(views.details_view(summary, tasks, here.executor.settings.address), status, headers)
