"""/v1/sessions/{id}/changes: what a session has changed in its repository."""

from __future__ import annotations

from fastapi import APIRouter

from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.sessions import CommitBody
from executor.surfaces.views.sessions import CommitView, SnapshotView, WorkChanges, changes_view

router = APIRouter(prefix="/v1/sessions", route_class=EdgeRoute, tags=["sessions"], responses=PROBLEMS)


@router.get("/{session_id}/changes")
@needs("prompt", "read")
async def changes(here: Context, session_id: str) -> Answer[WorkChanges]:
    """Compare the working tree of a session with its base, and mark the changes that will execute."""
    session, found = await here.executor.sessions.work.read_changes(here.actor, session_id)
    return answer(changes_view(session, found))


@router.post("/{session_id}/commit")
@needs("prompt")
async def commit(here: Context, session_id: str, body: CommitBody) -> Answer[CommitView]:
    """Commit everything on the session's branch, and create that branch in the original repository."""
    made, branch = await here.executor.sessions.work.commit(here.actor, session_id, body.message)
    return answer({"commit": made, "branch": branch})


@router.post("/{session_id}/discard")
@needs("prompt")
async def discard(here: Context, session_id: str) -> Answer[SnapshotView]:
    """Return to the base. What was there is kept, and `snapshot` says where."""
    return answer({"snapshot": await here.executor.sessions.work.discard(here.actor, session_id) or None})
