"""Following a session: nothing is printed twice, however often the connection breaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from executor.errors import DaemonUnreachable
from executor.surfaces.cli import session_follow
from executor.surfaces.cli.session_follow import RECONNECTIONS, SessionFollower

BREAKS = RECONNECTIONS + 3


def record(kind: str, text: str, sequence: int, **data: Any) -> dict[str, Any]:
    return {"id": "1" if kind == "text" else "t1", "kind": kind, "text": text, "sequence": sequence, "data": data}


def frames(kind: str, value: dict[str, Any]) -> list[str]:
    return [f"event: {kind}", f"data: {json.dumps(value)}"]


def test_a_text_that_comes_whole_after_a_broken_connection_is_printed_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each connection brings something, so that more of them may break than the limit of vain attempts."""
    text = "".join(chr(ord("a") + number) for number in range(2 * BREAKS + 2))
    connections = iter(range(BREAKS + 1))

    def lines(path: str, **_: object) -> Iterator[str]:
        number = next(connections)
        shown = 2 * number + 1
        yield from frames("message", record("text", text[:shown], shown))
        yield from frames("append", {"id": "1", "text": text[shown : shown + 1], "sequence": shown + 1})
        if number < BREAKS:
            raise DaemonUnreachable("the connection broke")
        yield from frames("message", record("prompt", "hello", shown + 2, status="completed", number=1))

    client: Any = SimpleNamespace(lines=lines, settings=None)
    monkeypatch.setattr(session_follow, "connect", lambda settings: client)
    SessionFollower(client, "ses_1", as_json=False).follow("t1")
    assert capsys.readouterr().out.replace("\n", "") == text


def test_a_daemon_that_does_not_come_back_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []

    def lines(path: str, **_: object) -> Iterator[str]:
        tries.append(path)
        raise DaemonUnreachable("no one answers")

    client: Any = SimpleNamespace(lines=lines, settings=None)
    monkeypatch.setattr(session_follow, "connect", lambda settings: client)
    with pytest.raises(DaemonUnreachable, match="connection to the daemon was lost"):
        SessionFollower(client, "ses_1", as_json=False).follow("t1")
    assert len(tries) == RECONNECTIONS
