"""Sessions over the API: tasks, transcripts, live streams, and the life of a session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.conditions import wait_for
from tests.support.daemon import Daemon, Refused
from tests.support.sessions import Session, following


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), EXECUTOR_SESSION_PROMPTS_PER_MINUTE="10000")
    daemon.start()
    yield daemon
    daemon.stop()


def test_a_prompt_is_answered_and_kept_in_order_as_typed_records(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    task = session.prompt(
        {"think": "hm"}, {"plan": ["look", "change"]}, {"say": "hello there"}, {"run": "echo done"}, {"say": "bye"}
    )
    assert (task["status"], task["usage"]["input"]) == ("completed", 11)
    kinds = [one["kind"] for one in session.messages()]
    assert kinds == ["prompt", "thought", "plan", "text", "tool_call", "text", "usage"]
    assert [one["text"] for one in session.messages("text")] == ["hello there ", "bye "]
    [call] = session.messages("tool_call")
    assert (call["data"]["status"], call["data"]["content"][0]["text"]) == ("completed", "done\n")
    view = session.view()
    assert (view["status"], view["usage"]["output"], view["pid"] is not None) == ("idle", 7, True)


def test_every_follower_ends_with_the_same_records_as_the_database(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    with following(session) as early, following(session) as other:
        session.prompt({"say": "one two three"}, {"run": "echo hi"}, {"say": "four five"})
        stored = {one["id"]: one["text"] for one in session.messages()}

        def are_equal() -> bool:
            return all({k: v["text"] for k, v in one.records().items()} == stored for one in (early, other))

        wait_for(are_equal, "both followers seeing everything")
        places = {one["id"]: (one["position"], one["taskId"], one["createdAt"]) for one in session.messages()}
        for follower in (early, other):  # also of records that changed while they were followed
            shown = {key: (one["position"], one["taskId"], one["createdAt"]) for key, one in follower.records().items()}
            assert shown == places
        assert any(kind == "session" and data["status"] == "running" for kind, data in early.frames)
        with following(session) as late:
            wait_for(lambda: {k: v["text"] for k, v in late.records().items()} == stored, "a late follower")


def test_a_reader_that_comes_back_gets_what_it_missed_once(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    session.prompt({"say": "before"})
    last = max(one["sequence"] for one in session.messages())
    session.prompt({"say": "after"})
    with following(session, last_event_id=last) as follower:
        wait_for(lambda: len(follower.records()) == 3, "the records of the second prompt")
        found = [data["text"] for kind, data in follower.frames if kind == "message" and data["kind"] == "text"]
        assert found == ["after "]
    page = daemon.get(f"{session.path}/messages?after={last}&limit=2")
    rest = daemon.get(f"{session.path}/messages?after={page['next']}&limit=100")
    assert len(page["items"]) == 2 and len(rest["items"]) == 1 and rest["next"] is None


def test_prompts_are_queued_edited_and_removed_while_one_runs(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    running = session.send({"bash": "echo first"})
    asked = session.asked()
    second, third = session.send("second"), session.send("third")
    assert [session.task(one)["status"] for one in (running, second, third)] == ["waiting", "queued", "queued"]
    assert session.view()["status"] == "waiting"
    edited = daemon.request("PATCH", f"{session.path}/tasks/{second['id']}", {"prompt": "another"})
    assert edited["prompt"] == "another"
    assert daemon.request("DELETE", f"{session.path}/tasks/{third['id']}")["status"] == "cancelled"
    daemon.post(f"/v1/interactions/{asked['id']}/approve")
    assert session.end_of(second)["status"] == "completed"
    assert "You said: another" in session.text() and "third" not in session.text()
    with pytest.raises(Refused, match="no longer queued"):
        daemon.request("PATCH", f"{session.path}/tasks/{second['id']}", {"prompt": "too late"})


def test_an_interrupting_prompt_stops_the_task_that_runs(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    hanging = session.send({"say": "x"}, {"hang": True})
    wait_for(lambda: session.text(), "the first words")
    queued = session.send("never")
    steered = session.send("instead", interrupt=True)
    assert session.end_of(steered)["status"] == "completed"
    assert [session.task(one)["status"] for one in (hanging, queued)] == ["cancelled", "cancelled"]


def test_a_stopped_session_has_no_process_and_takes_prompts_again_when_it_is_resumed(
    daemon: Daemon, tmp_path: Path
) -> None:
    session = Session(daemon, tmp_path)
    session.prompt("remember this")
    pid = session.view()["pid"]
    session.send({"hang": True})
    wait_for(lambda: session.view()["status"] == "running", "a running task")
    stopped = daemon.post(f"{session.path}/stop", {"reason": "enough"})
    assert (stopped["status"], stopped["pid"], stopped["tasks"][-1]["status"]) == ("stopped", None, "cancelled")
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(Refused, match="is stopped"):
        session.send("more")
    assert daemon.post(f"{session.path}/resume")["status"] == "idle"
    assert session.prompt("go on")["status"] == "completed"
    texts = [one["text"] for one in session.messages("text")]
    assert texts == ["You said: remember this ", "You said: go on "]  # what the agent replayed is not there twice


def test_a_session_that_is_resumed_while_it_is_still_being_stopped_takes_prompts(
    daemon: Daemon, tmp_path: Path
) -> None:
    session = Session(daemon, tmp_path)
    session.send({"run": "touch started; sleep 600"})  # deaf to a cancellation, so that the stop takes a while
    wait_for((tmp_path / "started").exists, "a running command")
    with ThreadPoolExecutor() as threads, following(session) as follower:
        stopping = threads.submit(daemon.post, f"{session.path}/stop")
        wait_for(lambda: session.view()["status"] == "stopped", "a stop that has begun")
        resumed = threads.submit(daemon.post, f"{session.path}/resume")
        assert (stopping.result()["status"], resumed.result()["status"]) == ("stopped", "idle")
        assert session.prompt("continue")["status"] == "completed"
        assert session.view()["status"] == "idle"
        seen = [data["status"] for kind, data in follower.frames if kind == "session"]
    assert seen[seen.index("stopped") :][:2] == ["stopped", "stopped"]  # the task that ends does not wake it


def test_what_the_agent_does_wrong_fails_the_task_and_not_the_session(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    crashed = session.prompt({"say": "x"}, {"crash": 3})
    assert (crashed["status"], crashed["failure"]["code"]) == ("failed", "agent_failed")
    assert session.prompt({"long": 200_000})["status"] == "completed"
    assert len(session.messages("text")[-1]["text"]) == 200_000
    assert session.prompt({"flood": 5_000})["status"] == "completed"
    assert len(session.messages("text")[-1]["text"]) == 10_000
    assert session.prompt("still here")["status"] == "completed"


def test_a_transcript_is_searched_and_exported(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path, title="A title")
    session.prompt({"say": "the word serendipity appears"})
    found = daemon.get("/v1/sessions/messages/search?text=serendipity")["items"]
    assert {one["kind"] for one in found} == {"prompt", "text"}
    assert all(one["sessionId"] == session.id for one in found)
    assert daemon.get(f"/v1/sessions/messages/search?text=serendipity&session={Session(daemon, tmp_path).id}") == {
        "items": []
    }
    markdown = read_text(daemon, f"{session.path}/export?format=markdown")
    assert "# A title" in markdown and "the word serendipity appears" in markdown
    lines = [json.loads(line) for line in read_text(daemon, f"{session.path}/export").splitlines()]
    assert lines[0]["id"] == session.id and [one["kind"] for one in lines[1:]] == ["prompt", "text", "usage"]


def test_a_fork_knows_what_its_parent_knows_and_changes_nothing_there(daemon: Daemon, tmp_path: Path) -> None:
    parent = Session(daemon, tmp_path)
    parent.prompt("something to remember")
    forked = daemon.post(f"{parent.path}/fork")
    assert forked["parentId"] == parent.id
    child = Session.__new__(Session)
    child.daemon, child.id = daemon, forked["id"]
    assert len(child.messages()) == len(parent.messages())
    before = len(parent.messages())
    assert child.prompt("and this")["status"] == "completed"
    assert len(parent.messages()) == before and "and this" in child.text()


def test_an_archived_session_leaves_the_list_and_a_deleted_one_is_gone(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    session.prompt("hello")
    daemon.post(f"{session.path}/archive")

    def list_ids(query: str) -> list[Any]:
        return [one["id"] for one in daemon.get(f"/v1/sessions?limit=500{query}")["items"]]

    assert session.id not in list_ids("") and session.id in list_ids("&archived=true")
    assert daemon.request("DELETE", session.path) == {"snapshot": None}
    with pytest.raises(Refused, match="there is no session"):
        session.view()
    assert not (daemon.state_dir / "sessions" / session.id).exists()


def test_every_step_of_a_session_is_in_the_audit_log(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    task = session.send({"bash": "echo hi"})
    daemon.post(f"/v1/interactions/{session.asked()['id']}/approve")
    session.end_of(task)
    daemon.post(f"{session.path}/stop")
    events = daemon.get("/v1/audit?limit=100")["items"]
    mine = [one["type"] for one in reversed(events) if one["data"].get("sessionId") == session.id]
    assert mine == [
        "agent_session.started",
        "agent_session.prompted",
        "interaction.requested",
        "interaction.approved",
        "agent_session.task_ended",
        "agent_session.stopped",
    ]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"agent": "nothing"}, "there is no agent"),
        ({"agent": "claude-code"}, "is not installed"),
        ({"cwd": "relative"}, "is not an absolute path"),
        ({"cwd": "/nowhere/at/all"}, "there is no directory"),
        ({"cwd": ""}, "a directory for the agent is missing"),
        ({"permissionMode": "bypassPermissions"}, "only allowed in a sandbox"),
        ({"repository": "/tmp"}, "either `cwd` or `repository`"),
        ({"isolation": "none"}, "isolation"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_session_that_makes_no_sense_is_refused(
    daemon: Daemon, tmp_path: Path, fields: dict[str, Any], problem: str
) -> None:
    body = {"agent": "fake", "isolation": "simple", "cwd": str(tmp_path), **fields}
    with pytest.raises(Refused, match=problem):
        daemon.post("/v1/sessions", body)


def test_the_data_directory_is_no_place_for_an_agent(daemon: Daemon) -> None:
    for place in (daemon.data_dir, daemon.data_dir.parent, "/"):
        with pytest.raises(Refused, match="contains Executor's own files"):
            Session(daemon, Path(place))


@pytest.mark.parametrize("prompt", ["", "  \n ", "x" * 500_001])
def test_a_prompt_that_is_empty_or_huge_is_refused(daemon: Daemon, tmp_path: Path, prompt: str) -> None:
    session = Session(daemon, tmp_path)
    with pytest.raises(Refused):
        session.send(prompt)
    assert session.view()["tasks"] == []
    before = daemon.get("/v1/sessions?limit=100")["items"]
    with pytest.raises(Refused):
        Session(daemon, tmp_path, prompt=prompt)
    assert len(daemon.get("/v1/sessions?limit=100")["items"]) == len(before)


def read_text(daemon: Daemon, path: str) -> str:
    import urllib.request

    headers = {"Authorization": f"Bearer {daemon.token()}"}
    with urllib.request.urlopen(urllib.request.Request(f"{daemon.url}{path}", headers=headers), timeout=60) as answer:
        return str(answer.read().decode())
