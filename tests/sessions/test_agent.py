"""What an agent does and reports, with the scripted one: every kind of message, permissions, faults."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from executor.sessions.agents.agent import Access, Start
from executor.sessions.agents.records import ToolCall
from executor.sessions.agents.table import AGENTS
from executor.sessions.protocol.lines import RpcError
from tests.sessions.daemon import Daemon, session_host
from tests.support.conditions import until


async def test_every_kind_of_update_becomes_a_record(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        result = await daemon.prompt(
            {"think": "let me see"}, {"say": "first words"}, {"plan": ["one", "two"]}, {"say": "second words"},
            {"diff": {"path": "/a.txt", "old": "x", "new": "y"}}, {"run": "echo out"},
            {"usage": {"used": 10, "size": 100}},
            {"update": {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "compact"}]}},
            {"update": {"sessionUpdate": "of_next_year", "value": {"deep": [1]}}},
        )  # fmt: skip
    assert result["status"] == "completed"
    assert result["token_usage"] == {"input": 11, "output": 7, "cache_read": 5, "cache_write": 3}
    assert daemon.text("thought") == "let me see"
    texts = {one["id"]: "" for one in daemon.of("text")}
    for one in daemon.of("text"):
        texts[one["id"]] += one["text"]
    assert list(texts.values()) == ["first words ", "second words "]
    assert [entry["content"] for entry in daemon.of("plan")[0]["entries"]] == ["one", "two"]
    diff, *_, command = daemon.of("tool_call")
    assert diff["content"] == [{"type": "diff", "path": "/a.txt", "oldText": "x", "newText": "y"}]
    assert (command["status"], command["kind"], command["input"]) == ("completed", "execute", {"command": "echo out"})
    assert command["content"] == [{"type": "text", "text": "out\n"}]
    assert daemon.of("usage")[0]["used"] == 10
    assert daemon.of("commands")[0]["commands"] == [{"name": "compact"}]
    assert daemon.of("unknown")[0]["update"] == {"value": {"deep": [1]}}
    sequences = [one["sequence"] for one in daemon.messages]
    assert sequences == list(range(1, len(sequences) + 1))
    assert len({one["task_id"] for one in daemon.messages}) == 1


async def test_without_streaming_a_text_comes_once_and_whole(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        await daemon.prompt({"say": "all of these words"}, stream=False)
    assert [one["text"] for one in daemon.of("text")] == ["all of these words "]


async def test_a_command_runs_only_after_a_yes(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        daemon.decisions = [False, True]
        await daemon.prompt({"bash": "touch made"})
        assert not has_made(daemon)
        await daemon.prompt({"bash": "touch made"})
        assert has_made(daemon)
    first = daemon.requests[0]
    assert (first["tool_name"], first["tool_input"]) == ("agent.bash", {"command": "touch made"})
    assert first["cwd"] == daemon.cwd
    assert "waiting" in daemon.progress


async def test_an_edit_is_asked_for_with_its_diff(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        path = f"{daemon.cwd}/made"
        await daemon.prompt({"edit": {"path": path, "text": "hello"}})
        assert has_made(daemon)
    assert daemon.requests[0]["tool_name"] == "agent.edit"
    assert daemon.requests[0]["diffs"] == [{"type": "diff", "path": path, "oldText": None, "newText": "hello"}]


def option(identifier: str, kind: str) -> dict[str, str]:
    return {"optionId": identifier, "name": identifier, "kind": kind}


@pytest.mark.parametrize(
    ("options", "approved", "chosen"),
    [
        ([option("all", "allow_always"), option("one", "allow_once"), option("no", "reject_once")], True, "one"),
        ([option("all", "allow_always"), option("one", "allow_once"), option("no", "reject_once")], False, "no"),
        ([option("bypassPermissions", "allow_once"), option("default", "allow_once")], True, "default"),
        ([option("proceed_always_and_save", "allow_once")], True, "cancelled"),
        ([option("yolo", "allow_once"), option("all", "allow_always")], True, "cancelled"),
        ([option("never", "reject_always"), option("one", "allow_once")], False, "cancelled"),
        ([], True, "cancelled"),
        ("nonsense", True, "cancelled"),
        ([7, {"kind": "allow_once"}, option("one", "allow_once")], True, "one"),
    ],
)
async def test_only_an_option_that_counts_once_is_ever_chosen(
    tmp_path: Path, options: Any, approved: bool, chosen: str
) -> None:
    async with session_host(tmp_path, mode="simple") as daemon:
        daemon.decisions = [approved]
        await daemon.prompt({"permission": {"options": options}})
    assert daemon.text() == f"chosen={chosen} "


async def test_requests_at_once_and_of_a_subagent_are_each_decided(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        daemon.decisions = [True, False, True, False]
        await daemon.prompt({"parallel": 4})
    chosen = json.loads(daemon.text().removeprefix("chosen=").replace("'", '"'))
    decided = [request["tool_input"]["command"] for request in daemon.requests]
    assert sorted(decided) == [f"echo {number}" for number in range(4)]
    assert sorted(chosen) == ["no", "no", "once", "once"]


async def test_an_error_of_the_daemon_is_a_no(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        daemon.decisions = [None, "true", 1]
        for _ in range(3):
            await daemon.prompt({"bash": "touch made"})
        assert not has_made(daemon)


async def test_stopping_answers_open_requests_as_cancelled(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        daemon.decisions = ["wait", "wait"]
        running = asyncio.create_task(daemon.prompt({"parallel": 2}, task_id="t1"))
        await until(lambda: len(daemon.requests) == 2, "both requests")
        assert await daemon.call("stop_task", task_id="t1") == {"stopped": True, "how": "cancelled", "absent": False}
        assert (await running)["status"] == "cancelled"
        assert daemon.text() == "chosen=['cancelled', 'cancelled'] "
        assert (await daemon.prompt("next"))["status"] == "completed"


async def test_an_agent_that_does_not_listen_is_ended_and_nothing_is_left(tmp_path: Path) -> None:
    deaf = {"deaf": {"command": fake_command(), "env": {"FAKE_AGENT_IGNORES_CANCEL": "1"}}}
    async with session_host(tmp_path, agents=deaf) as daemon:
        steps = {"run": "trap '' TERM; (trap '' TERM; setsid sleep 1000) >/dev/null 2>&1 & echo started"}, {"hang": 1}
        running = asyncio.create_task(daemon.prompt(*steps, task_id="t1", agentic_tool="deaf"))
        await until(lambda: any(one["content"] for one in daemon.of("tool_call")), "the command")
        stopped = await daemon.call("stop_task", task_id="t1")
        assert stopped["absent"] is True
        assert stopped["how"] in ("terminated", "killed")
        assert (await running)["status"] == "cancelled"
        assert (await daemon.prompt("again", agentic_tool="deaf"))["status"] == "completed"


async def test_a_stop_for_another_task_stops_nothing(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        await daemon.prompt("first", task_id="old")
        running = asyncio.create_task(daemon.prompt({"sleep": 0.3}, {"say": "done"}, task_id="new"))
        await until(lambda: daemon.progress.count("running") == 2, "the second task")
        with pytest.raises(RpcError, match="'old' is not running here"):
            await daemon.call("stop_task", task_id="old")
        assert (await running)["status"] == "completed"


async def test_a_task_that_takes_too_long_fails_and_the_next_one_works(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        result = await daemon.prompt({"hang": 1}, timeout_ms=300)
        assert (result["status"], result["error"]["code"]) == ("failed", "timeout")
        assert (await daemon.prompt("next"))["status"] == "completed"


async def test_an_agent_that_crashes_fails_its_task_with_its_last_words(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        first = await daemon.prompt({"say": "before"}, {"stderr": "out of ideas"}, {"sleep": 0.1}, {"crash": 3})
        assert (first["status"], first["error"]["code"]) == ("failed", "agent_failed")
        assert "with code 3" in first["error"]["message"]
        assert "out of ideas" in first["error"]["message"]
        assert daemon.text() == "before "
        second = await daemon.prompt("once more")
        assert (second["status"], second["resumed"]) == ("completed", True)
        assert "replayed" not in daemon.text()


async def test_an_agent_resumes_in_another_process_without_its_history_being_stored_twice(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        first = await daemon.prompt("remember me")
    async with session_host(tmp_path) as daemon:
        second = await daemon.prompt("and now", resume=first["agent_session"])
        assert (second["resumed"], second["agent_session"]) == (True, first["agent_session"])
        assert daemon.text() == "You said: and now "
    async with session_host(tmp_path) as daemon:
        third = await daemon.prompt("hello", resume="forgotten")
        assert (third["status"], third["resumed"]) == ("completed", False)


async def test_what_comes_after_the_end_of_a_turn_still_arrives(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        await daemon.prompt({"after": {"seconds": 0.2, "say": "afterthought"}}, task_id="t1")
        await until(lambda: "afterthought" in daemon.text(), "the afterthought")
        assert daemon.messages[-1]["task_id"] == "t1"


async def test_ten_thousand_messages_arrive_in_order_and_none_is_lost(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        result = await daemon.prompt({"flood": 10_000}, {"say": "end"})
        assert result["message_count"] >= 10_000
        assert daemon.text() == "x " * 10_000 + "end "


async def test_a_line_of_200_kb_passes(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        assert (await daemon.prompt({"long": 200_000}))["status"] == "completed"
        assert daemon.text() == "y" * 200_000


@pytest.mark.parametrize("raw", ['{"jsonrpc":"2.0","method":"session/upd', "not json\n", "[]\n{}\nnull\n"])
async def test_half_a_message_or_none_at_all_does_no_harm(tmp_path: Path, raw: str) -> None:
    async with session_host(tmp_path) as daemon:
        result = await daemon.prompt({"raw": raw}, {"raw": "\n"}, {"say": "still here"})
        assert result["status"] == "completed"
        assert daemon.text() == "still here "


async def test_an_agent_that_speaks_another_version_is_refused(tmp_path: Path) -> None:
    other = {"other": {"command": fake_command(), "env": {"FAKE_AGENT_VERSION": "9"}}}
    async with session_host(tmp_path, agents=other) as daemon:
        result = await daemon.prompt("hello", agentic_tool="other")
    assert "does not speak version 1 of ACP" in result["error"]["message"]


async def test_a_session_is_refused_if_the_mode_read_back_is_another(tmp_path: Path) -> None:
    env = {"FAKE_AGENT_MODE": "bypassPermissions", "FAKE_AGENT_MODE_STUCK": "1"}
    stuck = {"stuck": {"command": fake_command(), "env": env, "modes": MODES}}
    async with session_host(tmp_path, agents=stuck) as daemon:
        result = await daemon.prompt({"run": "touch made"}, agentic_tool="stuck", timeout_ms=60_000)
        assert result["status"] == "failed"
        assert "is in mode 'bypassPermissions' instead of 'default'" in result["error"]["message"]
        assert not has_made(daemon)


async def test_a_mode_that_a_repository_chose_is_replaced_by_the_one_asked_for(tmp_path: Path) -> None:
    chosen = {"eager": {"command": fake_command(), "env": {"FAKE_AGENT_MODE": "bypassPermissions"}, "modes": MODES}}
    async with session_host(tmp_path, agents=chosen) as daemon:
        for mode in ("plan", "default", "acceptEdits"):
            result = await daemon.prompt("hello", agentic_tool="eager", permission_mode=mode)
            assert result["status"] == "completed"
            assert daemon.of("mode")[-1]["mode"] == mode


async def test_an_agent_that_gives_itself_more_is_ended(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        assert (await daemon.prompt({"mode": "default"}, permission_mode="plan"))["status"] == "completed"
        result = await daemon.prompt({"mode": "bypassPermissions"}, {"sleep": 30}, permission_mode="default")
        assert (result["status"], result["error"]["code"]) == ("failed", "mode_changed")


async def test_an_agent_without_a_mode_for_what_is_asked_is_refused(tmp_path: Path) -> None:
    plain = {"plain": {"command": fake_command()}}
    async with session_host(tmp_path, agents=plain) as daemon:
        result = await daemon.prompt("hello", agentic_tool="plain", permission_mode="plan")
        assert "has no mode for 'plan'" in result["error"]["message"]


async def test_tools_that_were_not_named_are_refused_without_asking_anyone(tmp_path: Path) -> None:
    async with session_host(tmp_path) as daemon:
        await daemon.prompt({"bash": "touch made"}, tools=["agent.read"])
        assert not has_made(daemon)
        assert not daemon.requests


async def test_a_program_that_is_no_agent_and_one_that_is_missing_fail_with_a_reason(tmp_path: Path) -> None:
    agents = {"sleep": {"command": ["/bin/true"]}, "missing": {"command": ["/no/such/program"]}}
    async with session_host(tmp_path, agents=agents) as daemon:
        result = await daemon.prompt("hello", agentic_tool="sleep")
        assert "ended while starting" in result["error"]["message"]
    async with session_host(tmp_path, agents=agents) as daemon:
        result = await daemon.prompt("hello", agentic_tool="missing")
        assert "'/no/such/program', can't be found or run" in result["error"]["message"]


async def test_an_agent_that_is_not_installed_says_how_to_install_it(tmp_path: Path) -> None:
    async with session_host(tmp_path, agents_directory=str(tmp_path)) as daemon:
        result = await daemon.prompt("hello", agentic_tool="claude-code")
    assert result["error"]["code"] == "agent_unavailable"
    assert "executor sessions install claude-code" in result["error"]["message"]


MODES = {name: name for name in ("plan", "default", "acceptEdits", "bypassPermissions")}


def fake_command() -> list[str]:
    from executor.sessions.agents.table import AGENTS

    return list(AGENTS["fake"].command)


def has_made(daemon: Daemon) -> bool:
    return Path(daemon.cwd, "made").exists()


@pytest.mark.parametrize(
    ("update", "server"),
    [
        ({"rawInput": {"server": "executor_1", "tool": "execute", "arguments": {}}}, "executor_1"),
        ({"rawInput": {"serverName": "executor_1", "description": "decide", "url": "http://x"}}, "executor_1"),
        ({"_meta": {"claudeCode": {"toolName": "mcp__executor_1__execute"}}}, "executor_1"),
        ({"rawInput": {"server": "executor_1", "tool": "x", "file_path": "/a", "content": "b"}}, ""),
        ({"rawInput": {"server": "executor_1", "tool": "x"}, "_meta": {"claudeCode": {"toolName": "Write"}}}, ""),
        ({"title": "execute (executor_1 MCP Server)", "rawInput": {"command": "true"}}, ""),
    ],
)
def test_a_tool_is_of_a_server_only_if_the_agent_itself_says_so(update: dict[str, Any], server: str) -> None:
    tool = ToolCall("call")
    tool.merge(update)
    assert tool.server == server


def test_gemini_uses_our_server_alone_and_without_asking() -> None:
    start = Start(Access("key", "http://model", ""), "default", "/home/agent", "executor_1")
    settings = json.loads(AGENTS["gemini"].files(start)[".gemini/settings.json"])
    assert settings["mcp"] == {"allowed": ["executor_1"]}
