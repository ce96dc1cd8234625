"""/v1/sessions/{id}/terminals: terminals in a session. Their WebSockets are in `surfaces/api/sockets/`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import FileResponse, Response

from executor.sessions.terminals.tickets import SECONDS
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.sessions import NewTerminalBody
from executor.surfaces.views.terminals import (
    TerminalList,
    TerminalView,
    TicketView,
    recording_view,
    terminal_view,
)

router = APIRouter(prefix="/v1/sessions", route_class=EdgeRoute, tags=["sessions"], responses=PROBLEMS)
TERMINAL = "/{session_id}/terminals/{terminal_id}"
RECORDING: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/x-asciicast": {"schema": {"type": "string"}}}}
}


@router.post("/{session_id}/terminals", status_code=201)
@creates
@needs("prompt")
async def open_terminal(here: Context, session_id: str, body: NewTerminalBody) -> Answer[TerminalView]:
    """Open a terminal under the session's isolation. It ends if no one attaches to it within a minute."""
    terminals = here.executor.sessions.terminals
    size = (body.cols, body.rows)
    terminal = await here.long_waits.hold(terminals.open(here.actor, session_id, size, record=body.record))
    headers = {"Location": f"/v1/sessions/{session_id}/terminals/{terminal.id}"}
    return answer(terminal_view(terminal), 201, headers)


@router.get("/{session_id}/terminals")
@needs("prompt", "read")
async def list_terminals(here: Context, session_id: str) -> Answer[TerminalList]:
    """List the terminals that are open, and the recordings of all."""
    terminals = here.executor.sessions.terminals
    found = await terminals.list_open(here.actor, session_id)
    recorded = await terminals.list_recordings(here.actor, session_id)
    return answer(
        {"items": [terminal_view(one) for one in found], "recordings": [recording_view(one) for one in recorded]}
    )


@router.delete(TERMINAL)
@needs("prompt")
async def end(here: Context, session_id: str, terminal_id: str) -> Answer[TerminalView]:
    """End a terminal and everything that runs in it."""
    terminals = here.executor.sessions.terminals
    _, terminal = await terminals.find(here.actor, session_id, terminal_id)
    await terminals.end(here.actor, session_id, terminal_id)
    return answer(terminal_view(terminal))


@router.post(TERMINAL + "/ticket", status_code=201)
@needs("prompt", "read")
async def issue_ticket(here: Context, session_id: str, terminal_id: str) -> Answer[TicketView]:
    """Get a ticket for one connection to the terminal's WebSocket. Only you can use it, once, within 30 seconds."""
    ticket = await here.executor.sessions.terminals.issue_ticket(here.actor, session_id, terminal_id)
    return answer({"ticket": ticket, "expiresIn": int(SECONDS)}, 201)


@router.get(TERMINAL + "/recording", response_class=Response, responses=RECORDING)
@needs("prompt", "read")
async def recording(here: Context, session_id: str, terminal_id: str) -> FileResponse:
    """Download what a terminal showed, in the format of asciinema."""
    path = await here.executor.sessions.terminals.find_recording(here.actor, session_id, terminal_id)
    return FileResponse(path, media_type="application/x-asciicast", filename=path.name)
