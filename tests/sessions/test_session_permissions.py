"""Permission requests of agents: interactions like any other, decided by people, policies and earlier decisions."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from executor.sessions.permissions.agent_tools import read_request
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon, Refused
from tests.support.sandbox import needs_sandbox
from tests.support.sessions import Session


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(
        tmp_path_factory.mktemp("daemon"),
        EXECUTOR_SESSION_PROMPTS_PER_MINUTE="10000",
        EXECUTOR_SESSION_ANSWER_SECONDS="1",
    )
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
def policies(daemon: Daemon) -> Iterator[Any]:
    """Adds policies, and removes them afterwards."""
    made: list[str] = []

    def add(pattern: str, action: str, *conditions: dict[str, Any]) -> None:
        body = {"pattern": pattern, "action": action, "conditions": list(conditions)}
        made.append(daemon.post("/v1/policies", body)["id"])

    yield add
    for one in made:
        daemon.request("DELETE", f"/v1/policies/{one}")


def test_a_request_shows_who_wants_what_and_where(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    task = session.send({"edit": {"path": str(tmp_path / "a.txt"), "text": "new"}})
    asked = session.asked()
    assert (asked["kind"], asked["tool"], asked["cwd"]) == ("approval", "agent.edit", str(tmp_path))
    assert asked["arguments"] == {"file_path": str(tmp_path / "a.txt")}
    assert asked["diffs"] == [{"type": "diff", "path": str(tmp_path / "a.txt"), "oldText": None, "newText": "new"}]
    assert asked["actor"] == "fake (operator)" and asked["executionId"] is None
    assert session.id in asked["prompt"] and str(tmp_path) in asked["prompt"]
    assert session.task(task)["status"] == "waiting"
    assert not (tmp_path / "a.txt").exists()
    daemon.post(f"/v1/interactions/{asked['id']}/approve")
    assert session.end_of(task)["status"] == "completed" and (tmp_path / "a.txt").read_text() == "new"


def test_a_denial_reaches_the_agent_and_the_task_continues(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    task = session.send({"bash": "touch denied"}, {"say": "went on"})
    daemon.post(f"/v1/interactions/{session.asked()['id']}/deny", {"reason": "not today"})
    assert session.end_of(task)["status"] == "completed"
    assert not (tmp_path / "denied").exists() and "went on" in session.text()
    [record] = session.messages("permission")
    assert (record["data"]["status"], record["data"]["reason"]) == ("denied", "not today")
    assert any("not today" in one["text"] for one in session.messages("notice"))
    for act in ("stop", "resume"):
        daemon.post(f"{session.path}/{act}")
    session.prompt("continue")
    assert "not today" in session.text(), "the reason comes with the next prompt, also to another process"
    session.prompt("and now")
    assert session.text().count("not today") == 1


def test_allowing_for_the_session_covers_the_same_command_and_no_other(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    task = session.send({"bash": "echo one >> log"}, {"bash": "echo one >> log"}, {"bash": "echo two >> log"})
    asked = session.asked()
    assert asked["sessionScope"] == "agent.bash with exactly this command"
    with pytest.raises(Refused, match="belongs to a session"):
        daemon.post(f"/v1/interactions/{asked['id']}/approve", {"scope": "execution"})
    daemon.post(f"/v1/interactions/{asked['id']}/approve", {"scope": "session"})
    other = wait_for(lambda: [one for one in session.pending() if one["id"] != asked["id"]], "the other command")[0]
    assert other["arguments"] == {"command": "echo two >> log"}
    daemon.post(f"/v1/interactions/{other['id']}/deny")
    session.end_of(task)
    assert (tmp_path / "log").read_text() == "one\none\n"


def test_always_creates_the_policy_that_was_shown(daemon: Daemon, tmp_path: Path, policies: Any) -> None:
    session = Session(daemon, tmp_path)
    task = session.send({"bash": "echo always"}, {"bash": "echo always"})
    asked = session.asked()
    drafted = daemon.get(f"/v1/interactions/{asked['id']}/rule")["rule"]
    assert drafted["pattern"] == "agent.bash"
    assert drafted["conditions"] == [{"path": "/command", "test": "equals", "value": "echo always"}]
    daemon.post(f"/v1/interactions/{asked['id']}/approve", {"scope": "always"})
    assert session.end_of(task)["status"] == "completed" and len(session.messages("permission")) == 1
    again = Session(daemon, tmp_path).prompt({"bash": "echo always"})
    assert again["status"] == "completed"
    [made] = [one for one in daemon.get("/v1/policies")["items"] if one["pattern"] == "agent.bash"]
    daemon.request("DELETE", f"/v1/policies/{made['id']}")


def test_a_policy_about_commands_decides_without_asking(daemon: Daemon, tmp_path: Path, policies: Any) -> None:
    policies("agent.bash", "deny", {"path": "/command", "test": "matches", "value": "rm .*"})
    policies("agent.bash", "allow", {"path": "/command", "test": "matches", "value": "echo .*"})
    session = Session(daemon, tmp_path)
    assert session.prompt({"bash": "echo fine"}, {"bash": "rm -rf x"})["status"] == "completed"
    assert [one["data"]["status"] for one in session.messages("tool_call")] == ["completed", "failed"]
    assert session.messages("permission") == []
    # The whole matches what is allowed; one of its commands is denied, and another one is not known.
    assert session.prompt({"bash": "echo a; rm b"})["status"] == "completed"
    assert session.messages("tool_call")[-1]["data"]["status"] == "failed"
    task = session.send({"bash": "echo $(touch hidden)"})
    daemon.post(f"/v1/interactions/{session.asked()['id']}/deny")
    session.end_of(task)
    assert not (tmp_path / "hidden").exists()


def test_a_policy_about_paths_holds_for_every_way_of_writing_them(
    daemon: Daemon, tmp_path: Path, policies: Any
) -> None:
    policies("agent.edit", "deny", {"path": "/path", "test": "matches", "value": f"{tmp_path}/secret/.*"})
    policies("agent.edit", "allow", {"path": "/path", "test": "matches", "value": f"{tmp_path}/.*"})
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to("secret")
    (tmp_path / "file").symlink_to("secret/b")
    session = Session(daemon, tmp_path)
    session.prompt(
        {"edit": {"path": f"{tmp_path}/open.txt", "text": "x"}},
        {"edit": {"path": f"{tmp_path}/other/../secret/a", "text": "x"}},
        {"edit": {"path": f"{tmp_path}/link/a", "text": "x"}},
        {"edit": {"path": "file", "text": "x"}},
        {"edit": {"path": "link/../link/a", "text": "x"}},
    )
    assert (tmp_path / "open.txt").exists() and not list((tmp_path / "secret").iterdir())
    assert session.messages("permission") == []


def test_allowing_edits_for_the_session_covers_no_link_that_leads_out_of_its_directory(
    daemon: Daemon, tmp_path: Path
) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (work / "link").symlink_to(outside)
    session = Session(daemon, work)
    task = session.send({"edit": {"path": "a", "text": "x"}}, {"edit": {"path": "link/a", "text": "x"}})
    asked = session.asked()
    assert asked["sessionScope"] == f"every agent.edit below {work}"
    daemon.post(f"/v1/interactions/{asked['id']}/approve", {"scope": "session"})
    other = wait_for(lambda: [one for one in session.pending() if one["id"] != asked["id"]], "the link")[0]
    assert other["sessionScope"] == "agent.edit with exactly this input"
    daemon.post(f"/v1/interactions/{other['id']}/deny")
    session.end_of(task)
    assert (work / "a").exists() and not (outside / "a").exists()


def test_policies_cap_the_mode_and_the_agent_of_a_session(daemon: Daemon, tmp_path: Path, policies: Any) -> None:
    policies("agent.start", "deny", {"path": "/permissionMode", "test": "equals", "value": "acceptEdits"})
    with pytest.raises(Refused, match=r"a policy denies agent\.start"):
        Session(daemon, tmp_path, permissionMode="acceptEdits")
    Session(daemon, tmp_path, permissionMode="plan")


def test_policies_deny_terminals_and_an_agent_can_not_pass_for_one(
    daemon: Daemon, tmp_path: Path, policies: Any
) -> None:
    session, other = (Session(daemon, tmp_path, isolation=one) for one in ("insulated", "simple"))
    policies("agent.terminal", "deny", {"path": "/isolation", "test": "equals", "value": "insulated"})
    with pytest.raises(Refused, match=r"a policy denies agent\.terminal"):
        daemon.post(f"{session.path}/terminals", {})
    assert daemon.get(f"{session.path}/terminals")["items"] == []
    assert read_request({"tool_name": "terminal"}, "/").path == "agent.other"
    terminal = daemon.post(f"{other.path}/terminals", {})
    daemon.request("DELETE", f"{other.path}/terminals/{terminal['id']}")


def test_one_answer_counts_however_many_come_at_once(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    task = session.send({"bash": "echo x >> times"})
    asked = session.asked()

    def answer(number: int) -> int:
        try:
            daemon.post(f"/v1/interactions/{asked['id']}/{'approve' if number % 2 else 'deny'}")
        except Refused as refusal:
            assert refusal.problem["code"] == "already_settled"
            return 0
        return 1

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(answer, range(8))) == 1
    session.end_of(task)
    [record] = session.messages("permission")
    assert (tmp_path / "times").exists() == (record["data"]["status"] == "approved")


def test_several_requests_at_once_wait_for_an_answer_each(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    task = session.send({"parallel": 3})
    asked = wait_for(lambda: len(found := session.pending()) == 3 and found, "three requests")
    for one in asked:
        daemon.post(f"/v1/interactions/{one['id']}/approve")
    assert session.end_of(task)["status"] == "completed"
    assert "chosen=['once', 'once', 'once']" in session.text().replace("  ", " ")


@pytest.mark.parametrize(("unattended", "ends"), [("deny", "completed"), ("stop", "cancelled")])
def test_no_one_there_is_answered_as_the_session_says(
    daemon: Daemon, tmp_path: Path, unattended: str, ends: str
) -> None:
    session = Session(daemon, tmp_path, unattended=unattended)
    task = session.end_of(session.send({"bash": "touch never"}, {"sleep": 20 if unattended == "stop" else 0}))
    assert task["status"] == ends and not (tmp_path / "never").exists()
    [record] = session.messages("permission")
    assert record["data"]["status"] == "expired"
    with pytest.raises(Refused, match="has expired"):
        daemon.post(f"/v1/interactions/{record['id']}/approve")
    assert session.prompt("still alive")["status"] == "completed"


def test_stopping_withdraws_what_was_asked(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    session.send({"bash": "touch late"})
    asked = session.asked()
    daemon.post(f"{session.path}/stop")
    with pytest.raises(Refused, match="already cancelled"):
        daemon.post(f"/v1/interactions/{asked['id']}/approve")
    assert not (tmp_path / "late").exists()


@pytest.mark.parametrize("isolation", ["insulated", pytest.param("sandbox", marks=needs_sandbox)])
def test_the_agent_uses_our_tools_with_a_key_of_its_own_that_ends_with_it(
    daemon: Daemon, tmp_path: Path, isolation: str
) -> None:
    session = Session(daemon, tmp_path, isolation=isolation)
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "execute", "arguments": {"code": "return 6*7"}},
    }
    session.prompt({"call_mcp": call})
    assert "42" in session.text()
    [run] = daemon.get("/v1/executions?limit=1")["items"]
    assert run["actor"] == "fake (operator)"
    [key] = [one for one in daemon.get("/v1/agents")["items"] if one["name"] == "fake (operator)"]
    assert key["revokedAt"] is None
    daemon.post(f"{session.path}/stop")
    [ended] = [one for one in daemon.get("/v1/agents")["items"] if one["name"] == "fake (operator)"]
    assert ended["expiresAt"] < key["expiresAt"]


def test_an_agents_credential_can_neither_start_nor_decide(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    session.send({"bash": "echo hi"})
    asked = session.asked()
    agent = daemon.token("agent")
    for method, path, body in (
        ("POST", "/v1/sessions", {"agent": "fake", "cwd": str(tmp_path)}),
        ("POST", f"{session.path}/prompt", {"prompt": "x"}),
        ("POST", f"{session.path}/stop", {}),
        ("POST", f"/v1/interactions/{asked['id']}/approve", {}),
        ("GET", session.path, None),
        ("GET", f"{session.path}/messages", None),
    ):
        with pytest.raises(Refused) as refused:
            daemon.request(method, path, body, token=agent)
        assert refused.value.status == 403
    daemon.post(f"{session.path}/stop")
