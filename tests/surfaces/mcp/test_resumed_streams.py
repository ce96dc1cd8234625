"""A stream that breaks before the answer: the client names the last event that it got, and receives the answer."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from executor.surfaces.mcp.streams import progress
from executor.surfaces.mcp.streams.event_ids import CallPlace, event_id_of, read_event_id
from tests.support.conditions import wait_for
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.conftest import about, text_of
from tests.surfaces.mcp.tool_call import SentCall

SLOW = "await new Promise(done => setTimeout(done, 2600)); return 'done'"
META = {"progressToken": "p"}


def break_off(daemon: Daemon, name: str, arguments: dict[str, Any], number: Any = 7, role: str = "agent") -> str:
    """The id of the first event; then the connection is closed."""
    sent = SentCall(daemon, name, arguments, number=number, meta=META, role=role)
    with sent.response() as response:
        while not (line := response.readline().decode()).startswith("id: "):
            assert line, "the stream ended without a named event"
        return line.removeprefix("id: ").strip()


@contextmanager
def come_back(daemon: Daemon, event_id: str, *, role: str = "agent") -> Iterator[http.client.HTTPResponse]:
    token = getattr(daemon.tokens, role, role)
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", "Last-Event-ID": event_id,
               "MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": "one"}  # fmt: skip
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=120)
    with closing(connection):
        connection.request("GET", "/mcp", headers=headers)
        yield connection.getresponse()


def read_answer(daemon: Daemon, event_id: str, role: str = "agent") -> Any:
    with come_back(daemon, event_id, role=role) as response:
        assert response.status == 200 and response.headers["content-type"] == "text/event-stream"
        lines = response.read().decode().splitlines()
    [answer] = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    return answer


@pytest.mark.parametrize("number", [7, "seven"])
def test_the_answer_of_a_broken_stream_comes_to_the_request_that_it_belongs_to(daemon: Daemon, number: Any) -> None:
    event_id = break_off(daemon, "execute", {"code": SLOW}, number)
    answer = read_answer(daemon, event_id)
    assert answer["id"] == number and json.loads(text_of(answer["result"])) == "done"
    assert read_answer(daemon, event_id) == answer  # as often as the client asks


def test_a_client_that_asked_for_no_news_can_come_back_to_a_long_call(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its stream begins with an event without content once the call takes longer."""
    monkeypatch.setattr(progress, "OPENING_SECONDS", 0.05)
    sent = SentCall(daemon, "execute", {"code": SLOW})
    with sent.response() as response:
        assert response.headers["content-type"] == "text/event-stream"
        event_id = response.readline().decode().removeprefix("id: ").strip()
        assert response.readline().strip() == b"data:"
    answer = read_answer(daemon, event_id)
    assert answer["id"] == 7 and json.loads(text_of(answer["result"])) == "done"


def test_a_short_call_and_one_of_an_older_revision_are_answered_without_a_stream(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "OPENING_SECONDS", 600)
    with SentCall(daemon, "execute", {"code": "return 1"}).response() as response:
        assert response.headers["content-type"] == "application/json"
    monkeypatch.setattr(progress, "OPENING_SECONDS", 0.05)
    older = {"MCP-Protocol-Version": "2025-06-18"}
    with SentCall(daemon, "execute", {"code": SLOW}, headers=older).response() as response:
        assert response.headers["content-type"] == "application/json"


def test_a_long_call_that_is_not_interrupted_ends_its_stream_with_the_answer(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "OPENING_SECONDS", 0.05)
    with SentCall(daemon, "execute", {"code": SLOW}).response() as response:
        named, answered = [event for event in response.read().decode().split("\n\n") if event]
    assert named.endswith("data: ") and named.splitlines()[0] in answered
    [data] = [line.removeprefix("data: ") for line in answered.splitlines() if line.startswith("data: ")]
    assert json.loads(text_of(json.loads(data)["result"])) == "done"


def test_an_execution_ends_if_its_client_does_not_come_back(daemon: Daemon) -> None:
    event_id = break_off(daemon, "execute", {"code": SLOW.replace("2600", "240000")})
    execution = event_id.partition(".")[0]
    wait_for(lambda: daemon.get(f"/v1/executions/{execution}").json["status"] == "cancelled")
    assert read_answer(daemon, event_id)["result"]["isError"]


def test_a_wait_for_a_human_continues_in_another_stream(daemon: Daemon, shop: list[Any]) -> None:
    paused = daemon.execute('return await tools.shop.things.createThing({name: "lamp"})')
    event_id = break_off(daemon, "resume", {"executionId": paused["executionId"]})
    daemon.post(f"/v1/interactions/{paused['interactions'][0]['id']}/approve", {})
    assert about(read_answer(daemon, event_id)["result"])["status"] == "completed"


def test_the_stream_of_another_agent_is_not_found(daemon: Daemon) -> None:
    event_id = break_off(daemon, "execute", {"code": SLOW})
    other = identities.agent(daemon, "eavesdropper")
    with come_back(daemon, event_id, role=str(other.token)) as response:
        assert response.status == 404
    read_answer(daemon, event_id)


# Half a surrogate pair, and 30 digits.
UNWRITABLE = ["exec_1.execute.Ilx1ZDgwMCI", "exec_1.execute.OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5"]


@pytest.mark.parametrize(
    "event_id", ["", "1", "exec_1", "exec_1.execute.", "exec_1.execute.W10", "x" * 5_000, *UNWRITABLE]
)
def test_ids_that_are_not_ours_are_refused(daemon: Daemon, event_id: str) -> None:
    with come_back(daemon, event_id) as response:
        assert response.status == 405


def test_an_id_says_all_that_is_needed() -> None:
    for number in (0, 2**63, "", "a b\n", "ü"):
        place = CallPlace("exec_1a", "resume", number)
        assert read_event_id(place.to_event_id()) == place
    assert event_id_of("exec_1a", {"id": 10**20, "params": {"name": "resume"}}) == ""  # it has no answer of ours
