"""Terminals of a real daemon over WebSockets: watched, written to, taken over, recorded, refused and ended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection

from executor.sessions.terminals.emulator.emulator import Emulator
from tests.sessions.terminals.connection import (
    SET_PROMPT,
    attach,
    connection,
    open_terminal,
    ticket_of,
    wait_until_left,
)
from tests.support.daemon import Daemon, Refused
from tests.support.sandbox import needs_sandbox
from tests.support.sessions import LIMIT, Session, wait_for


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), EXECUTOR_SESSION_PROMPTS_PER_MINUTE="10000")
    daemon.start()
    yield daemon
    daemon.stop()


def events_of(daemon: Daemon, type: str, terminal: Any) -> list[Any]:
    found = [one for one in all_events(daemon) if one["type"] == f"agent_session.{type}"]
    return [one for one in found if one["data"]["terminalId"] == terminal["id"]]


def all_events(daemon: Daemon) -> list[Any]:
    found: list[Any] = []
    after: int | None = 0
    while after is not None:
        page = daemon.get(f"/v1/events?after={after}&limit=500")
        found, after = found + page["items"], page["next"]
    return found


def test_a_terminal_is_used_and_left_and_found_again_as_it_was(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    terminal = open_terminal(session, cols=100, rows=30)
    with attach(session, terminal) as first:
        first.type("stty size; pwd; for n in $(seq 100); do echo line $n; done; echo -e '\\e[31mred\\e[0m 漢字'\n")
        first.see("line 100")  # the characters after it are in the echo of the command too
        assert first.state["writing"] and (first.state["cols"], first.state["rows"]) == (100, 30)
        assert b"30 100" in first.output and str(tmp_path).encode() in first.output
        first.type("printf '\\e[?1049h\\e[H\\e[2J\\e[5;7Hfull-%d\\e[?25l' 42; read\n")
        first.see("full-42")
        first.wait(lambda: 25 not in first.emulator.modes, "a hidden cursor")
        before = first.rows()
    wait_until_left(session)
    with attach(session, terminal) as second:
        second.wait(lambda: second.rows() == before and 25 not in second.emulator.modes, "the same screen")
        assert second.emulator.screen is second.emulator.other
        second.type("\nprintf '\\e[?1049l\\e[?25h'; echo back-$((1+1))\n")
        second.see("back-2")
        assert any("line 99" in "".join(line.chars) for line in second.emulator.main.lines)
        assert any("line 20" in "".join(line.chars) for line in second.emulator.main.scrollback)
        second.type("exit 3\n")
        second.wait(lambda: second.closed, "the end")
        assert second.of("ended")[0]["code"] == 3
    with pytest.raises(Refused, match="no terminal"):
        ticket_of(session, terminal)
    assert len(events_of(daemon, "terminal_opened", terminal)) == 1
    wait_for(lambda: events_of(daemon, "terminal_ended", terminal), "the event of its end")
    assert events_of(daemon, "terminal_ended", terminal)[0]["data"]["code"] == 3


def test_one_writes_and_the_others_watch_until_one_takes_over(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    terminal = open_terminal(session)
    with (
        attach(session, terminal, cols=90, rows=20) as writer,
        attach(session, terminal, cols=40, rows=10) as other,
    ):
        assert writer.state["writing"] and not other.state["writing"]
        assert (other.state["cols"], other.state["rows"]) == (90, 20)
        other.type("echo no\n")
        other.say(type="resize", cols=33, rows=11)
        other.wait(lambda: len(other.of("error")) == 2, "two refusals")
        assert {one["code"] for one in other.of("error")} == {"forbidden"}
        writer.type("echo yes-$((1+1))\n")
        other.see("yes-2")
        assert not any("no" in row.split() for row in other.rows())
        other.say(type="take_over", cols=60, rows=15)
        writer.wait(lambda: not writer.state["writing"], "losing it")
        for one in (writer, other):
            one.wait(lambda one=one: one.emulator.columns == 60, "the new size")
        other.type("stty size\n")
        writer.see("15 60")
        other.say(type="resize", cols=70, rows=18)
        other.wait(lambda: other.of("resized"), "the new size, as it is")
        assert other.of("resized")[-1] == {"type": "resized", "cols": 70, "rows": 18}
        writer.type("echo not me\n")
        writer.wait(lambda: writer.of("error"), "a refusal")
        wait_for(lambda: other.rows() == writer.rows(), "equal screens")
    assert len(events_of(daemon, "terminal_taken_over", terminal)) == 1
    [shown] = daemon.get(f"{session.path}/terminals")["items"]
    assert (shown["cols"], shown["rows"]) == (70, 18)
    daemon.request("DELETE", f"{session.path}/terminals/{terminal['id']}")
    wait_for(lambda: daemon.get(f"{session.path}/terminals")["items"] == [], "its end")


def read_until(socket: ClientConnection, text: bytes) -> tuple[bytes, int]:
    """The output since the last whole screen, and how much came in all."""
    output, received = b"", 0
    while text not in output[-200_000:]:
        message = socket.recv(timeout=LIMIT)
        if isinstance(message, bytes):
            output += message
            received += len(message)
        elif json.loads(message)["type"] == "screen":
            output = b""
    return output, received


def screen_of(output: bytes) -> list[str]:
    emulator = Emulator(80, 24)
    emulator.feed(output[-4000:])
    return ["".join(line.chars).rstrip() for line in emulator.screen.lines if line.chars][-5:]


def test_a_flood_is_not_slowed_by_a_watcher_that_reads_nothing(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    terminal = open_terminal(session)
    path = f"{session.path}/terminals/{terminal['id']}/socket"
    with connection(session, path) as writer, connection(session, path, is_slow=True) as slow:
        for socket, write in ((writer, "if_free"), (slow, "no")):
            socket.send(json.dumps({"type": "attach", "ticket": ticket_of(session, terminal), "write": write}))
            socket.recv(timeout=LIMIT)
        writer.send(b"head -c 3000000 /dev/zero | tr '\\0' x | fold -w 79; echo done-$((6*7))\n")
        shown, _ = read_until(writer, b"done-42")
        assert daemon.get(f"{session.path}/terminals")["items"][0]["watchers"] == 2
        seen, received = read_until(slow, b"done-42")
        assert received < 2_500_000  # the rest was dropped
        assert [row for row in screen_of(seen) if "done" in row] == [row for row in screen_of(shown) if "done" in row]
        assert screen_of(seen)[0] == "x" * 79


def test_a_ticket_is_good_once_for_its_terminal(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    one, two = open_terminal(session), open_terminal(session)
    ticket = ticket_of(session, one)
    with attach(session, one, ticket=ticket) as good:
        assert good.screens
    for terminal, shown in ((one, ticket), (two, ticket_of(session, one)), (one, "tkt_guess")):
        with attach(session, terminal, ticket=shown) as bad:
            bad.wait(lambda bad=bad: bad.closed, "the refusal")
            assert bad.of("error")[0]["code"] == "unauthorized" and not bad.screens
            assert bad.closed is not None and bad.closed[0] == 1008
    path = f"{session.path}/terminals/{one['id']}/socket"
    for first in ('{"type": "attach"}', "not json", b"\x00", '{"type": "resize", "cols": 1, "rows": 1}'):
        with connection(session, path) as socket:
            socket.send(first)
            assert json.loads(socket.recv(timeout=LIMIT))["type"] == "error"
    with connection(session, path) as socket:
        socket.send("x" * 200_000)
        with pytest.raises(Exception, match="1009"):
            socket.recv(timeout=LIMIT)


def test_foreign_pages_unknown_callers_and_other_addresses_get_no_socket(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    terminal = open_terminal(session)
    path = f"{session.path}/terminals/{terminal['id']}/socket"

    def status(path: str, token: str | None = None, **headers: str) -> int:
        with pytest.raises(InvalidStatus) as refused, connection(session, path, token, **headers):
            pass
        assert refused.value.response.headers["Content-Type"] == "application/problem+json"
        return int(refused.value.response.status_code)

    assert status(path, Origin="http://evil.example") == 403
    assert status(path, Origin="null") == 403
    assert status(path, **{"Sec-Fetch-Site": "cross-site"}) == 403
    assert status(path, "exk_unknown") == 401
    assert status(path, Authorization="") == 401
    assert status(path, Authorization="", Cookie="executor_session=x") == 403  # and no page that it comes from
    assert status(path, Host="evil.example") == 421
    assert status(path, daemon.token("agent")) in (403, 404)
    assert status(path.replace(terminal["id"], "term_0")) == 404
    assert status("/v1/sessions/socket") == 404
    assert status("/mcp/socket") == 404
    assert status("/internal/socket") in (401, 404)
    assert status("/sessions/socket") == 404

    def is_recorded(one: Any) -> bool:
        return bool(one["type"] == "request.refused" and one["data"]["code"] == "origin_refused")

    wait_for(lambda: any(map(is_recorded, all_events(daemon))), "the refusal is recorded")
    with pytest.raises(InvalidStatus) as plain, connection(session, "/v1/status"):
        pass
    assert plain.value.response.status_code == 200  # answered as the request that it also is
    with connection(session, path, Origin=daemon.url) as ours:
        ours.close()


def test_a_revoked_key_and_a_stopped_session_end_the_connection(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    terminal = open_terminal(session)
    key = daemon.post("/v1/keys", {"name": "watcher", "scopes": ["read"]})
    with (
        attach(session, terminal) as mine,
        attach(session, terminal, token=key["token"]) as theirs,
        connection(session, f"{session.path}/messages/socket", key["token"]) as transcript,
    ):
        assert json.loads(transcript.recv(timeout=LIMIT))["type"] in ("session", "message")
        assert not theirs.state["writing"]
        theirs.say(type="take_over")
        theirs.wait(lambda: theirs.of("error"), "a refusal")
        assert theirs.of("error")[0]["code"] == "forbidden"
        daemon.request("DELETE", f"/v1/keys/{key['id']}")
        theirs.wait(lambda: theirs.closed, "the end of the connection")
        assert theirs.closed is not None and theirs.closed[0] == 1008
        with pytest.raises(Exception, match="1008"):
            while True:
                transcript.recv(timeout=LIMIT)
        mine.type("echo still-$((1+1))\n")
        mine.see("still-2")
        pid = int(session.view()["pid"])
        daemon.post(f"{session.path}/stop", {"reason": "enough"})
        mine.wait(lambda: mine.closed, "the end")
        assert "stopped" in mine.of("ended")[0]["reason"]
        assert not Path(f"/proc/{pid}").exists()
    assert daemon.get(f"{session.path}/terminals")["items"] == []
    with pytest.raises(Refused, match="is stopped"):
        open_terminal(session)


def test_a_session_has_a_bounded_number_of_terminals_of_bounded_size(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    for size in ({"cols": 1}, {"rows": 100_000}, {"cols": "80"}):
        with pytest.raises(Refused):
            open_terminal(session, **size)
    for _ in range(8):
        open_terminal(session)
    with pytest.raises(Refused, match="at most 8"):
        open_terminal(session)
    daemon.post(f"{session.path}/stop")
    wait_for(lambda: daemon.get(f"{session.path}/terminals")["items"] == [], "the end of all")


def test_tasks_and_terminals_share_a_process_and_a_terminal_keeps_it(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    terminal = open_terminal(session)
    pid = session.view()["pid"]
    with attach(session, terminal) as watcher:
        assert session.prompt({"run": "echo from the agent > note.txt"})["status"] == "completed"
        watcher.type("cat note.txt\n")
        watcher.see("from the agent")
        assert session.view()["pid"] == pid
        os.kill(pid, 9)
        watcher.wait(lambda: watcher.closed, "the end with its process")
        assert watcher.of("ended")[0]["reason"] == "its process ended"
    assert session.prompt("again")["status"] == "completed"


def test_a_shell_that_closes_its_terminal_is_ended_with_it(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    terminal = open_terminal(session)
    with attach(session, terminal) as watcher:
        watcher.type("echo $$ > pid; exec sleep 1000 </dev/null >/dev/null 2>&1\n")
        watcher.wait(lambda: watcher.closed, "the end")
        assert watcher.of("ended")[0] == {"type": "ended", "code": -15, "reason": "its shell exited"}
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_recording_holds_what_was_shown_and_not_what_was_typed(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    terminal = open_terminal(session, record=True)
    with attach(session, terminal) as watcher:
        watcher.type(f"{SET_PROMPT}; stty -echo; echo ready-$((1+1)); read\n")
        watcher.see("ready-2")
        watcher.type("hunter2\n")
        watcher.see_prompt()
        watcher.say(type="resize", cols=50, rows=12)
        watcher.type("echo shown; exit\n")
        watcher.wait(lambda: watcher.closed, "the end")
        shown = watcher.rows()
    recordings = wait_for(lambda: daemon.get(f"{session.path}/terminals")["recordings"], "the recording")
    assert [one["terminalId"] for one in recordings] == [terminal["id"]]
    path = daemon.state_dir / "sessions" / session.id / "terminals" / f"{terminal['id']}.cast"
    header, *records = [json.loads(line) for line in path.read_text().splitlines()]
    assert (header["version"], header["width"], header["height"]) == (2, 80, 24)
    again = Emulator(header["width"], header["height"])
    for at, kind, text in records:
        assert at >= 0
        if kind == "r":
            again.resize(*map(int, text.split("x")))
        else:
            again.feed(text.encode())
    assert ["".join(line.chars).rstrip() for line in again.screen.lines] == shown
    assert not any("hunter2" in text for _, _, text in records)
    with pytest.raises(Refused, match="no recording"):
        daemon.get(f"{session.path}/terminals/term_..agent/recording")
    assert oct(path.stat().st_mode)[-3:] == "600"


@needs_sandbox
def test_a_terminal_in_a_sandbox_sees_no_more_than_its_agent(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path, isolation="sandbox")
    terminal = open_terminal(session, cols=300)
    with attach(session, terminal) as watcher:
        reach = f"(: </dev/tcp/127.0.0.1/{daemon.port}) 2>&1 | tail -1"
        watcher.type(f"ls {daemon.data_dir} 2>&1 | tail -1; {reach}; echo end-$((1+1))\n")
        watcher.see("end-2")
        text = "\n".join(watcher.rows())
        assert "No such file" in text and "refused" in text and "no job control" not in text
        watcher.type("sh -c 'echo asleep-$((1+1)); exec sleep 1000'\n")
        watcher.see("asleep-2")
        watcher.type("\x03echo interrupted-$((1+1))\n")
        watcher.see("interrupted-2")


def test_a_transcript_comes_over_a_websocket_as_over_the_event_stream(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    session.prompt({"say": "one two three"})
    stored = {one["id"]: one["text"] for one in session.messages()}
    last = max(one["sequence"] for one in session.messages())
    with connection(session, f"{session.path}/messages/socket?after=0") as socket:
        found: dict[str, str] = {}
        while found != stored:
            message = json.loads(socket.recv(timeout=LIMIT))
            if message["type"] == "message":
                found[message["data"]["id"]] = message["data"]["text"]
            elif message["type"] == "append":
                found[message["data"]["id"]] += message["data"]["text"]
    with connection(session, f"{session.path}/messages/socket?after={last}") as socket:
        session.prompt({"say": "later"})
        texts = ""
        while "later" not in texts:
            message = json.loads(socket.recv(timeout=LIMIT))
            texts += message["data"].get("text", "") if message["type"] != "session" else ""
        assert "one" not in texts
    with pytest.raises(InvalidStatus), connection(session, f"{session.path}/messages/socket?after=x"):
        pass
