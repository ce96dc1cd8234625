"""Terminals of sessions, and their recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from executor.surfaces.views.base import time

if TYPE_CHECKING:
    from executor.sessions.terminals.terminal import Terminal
    from executor.sessions.terminals.terminals import RecordingFile


class TerminalView(TypedDict):
    """`writer` is the name of the person who writes, if anyone does."""

    id: str
    sessionId: str
    cols: int
    rows: int
    writer: str | None
    watchers: int
    recorded: bool
    createdAt: str


class RecordingView(TypedDict):
    terminalId: str
    size: int
    changedAt: str


class TerminalList(TypedDict):
    items: list[TerminalView]
    recordings: list[RecordingView]


class TicketView(TypedDict):
    ticket: str
    expiresIn: int


def terminal_view(terminal: Terminal) -> TerminalView:
    return {
        "id": terminal.id,
        "sessionId": terminal.session_id,
        "cols": terminal.columns,
        "rows": terminal.rows,
        "writer": terminal.writer.actor.name if terminal.writer else None,
        "watchers": len(terminal.watchers),
        "recorded": terminal.recording is not None,
        "createdAt": time(terminal.created_at),
    }


def recording_view(recording: RecordingFile) -> RecordingView:
    return {"terminalId": recording.terminal_id, "size": recording.size, "changedAt": time(recording.changed_at)}
