"""Commands that do what servers should not: everyone else is unharmed, and the error says what happened."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from executor.errors import ConsentRequired, DocumentInvalid, InvalidRequest, SourceUnreachable, ToolError
from executor.sources.mcp.kind import Mcp
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.mcp.conftest import HOSTILE, McpConnector
from tests.support.conditions import until
from tests.support.processes import is_alive


async def test_a_command_is_never_started_without_consent(kind: Mcp, tmp_path: Path) -> None:
    trace = tmp_path / "started"
    request = SourceRequest(kind="mcp", command=("touch", str(trace)), consented=Consent(by_operator=True))
    found = await kind.probe(request)
    assert found is not None and found.transport == "stdio" and found.location == f"touch {trace}"
    with pytest.raises(ConsentRequired):
        await kind.load(request)
    assert not trace.exists()


async def test_a_command_gets_nothing_of_the_daemons_environment_but_what_was_named(
    connect: McpConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXECUTOR_SECRET", "s3cret")
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
    monkeypatch.setenv("HANDED_ON", "yes")
    print_names = "import os,sys; sys.exit(' '.join(sorted(os.environ)))"
    with pytest.raises(SourceUnreachable) as ended:
        await connect.to_command("-c", print_names, env={"GIVEN": "1", "HANDED_ON": None})
    assert ended.value.hint.rpartition(": ")[2].split() == sorted(
        {"GIVEN", "HANDED_ON"} | {"HOME", "LANG", "PATH"} & os.environ.keys() | {"LC_CTYPE"} & names_python_adds()
    )
    with pytest.raises(InvalidRequest, match="EXECUTOR_SECRET"):
        await connect.to_command("-c", print_names, env=["EXECUTOR_SECRET"])


def names_python_adds() -> set[str]:
    """The interpreter itself sets this one where the locale is C."""
    return {"LC_CTYPE"} if os.environ.get("LANG") in (None, "C", "POSIX") else set()


async def test_noise_on_standard_output_is_skipped(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "noise")
    assert await connected.call("work", a=1) == 'done {"a": 1}'


async def test_noise_without_end_is_given_up(connect: McpConnector) -> None:
    with pytest.raises(SourceUnreachable, match="not a message"):
        await connect.to_command(HOSTILE, "flood")


async def test_a_command_that_never_answers_is_given_up_and_ended(connect_within: Callable[..., McpConnector]) -> None:
    connect = connect_within(start_seconds=0.5)
    with pytest.raises(SourceUnreachable, match=r"within 0\.5 seconds"):
        await connect.to_command(HOSTILE, "mute")
    await connect.kind.close()


async def test_a_command_that_ends_at_once_is_reported_with_its_last_words(connect: McpConnector) -> None:
    with pytest.raises(SourceUnreachable) as ended:
        await connect.to_command(HOSTILE, "refuses")
    assert "no licence" in ended.value.hint and "\x1b" not in ended.value.hint


async def test_a_command_that_is_not_there_says_so(kind: Mcp) -> None:
    with pytest.raises(SourceUnreachable, match="can't be started: No such file"):
        await kind.load(
            SourceRequest(
                kind="mcp", command=("no-such-command-anywhere",), consented=Consent(runs_code=True, by_operator=True)
            )
        )


async def test_a_crash_fails_its_call_as_sent_and_the_next_call_starts_the_command_again(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "calls")
    before = await connected.call("pid")
    with pytest.raises(ToolError) as crashed:
        await connected.call("crash")
    assert crashed.value.tool_code == "upstream_unreachable" and crashed.value.tool_details == {"sent": True}
    assert not crashed.value.retryable
    assert await connected.call("pid") != before


async def test_a_call_without_an_answer_ends_in_time_and_the_session_goes_on(
    connect_within: Callable[..., McpConnector],
) -> None:
    connect = connect_within(call_seconds=10.0)
    connected = await connect.to_command(HOSTILE, "calls")
    before = await connected.call("pid")
    with pytest.raises(ToolError) as late:
        await connected.call("hang")
    assert late.value.tool_code == "upstream_timeout" and late.value.tool_details == {"sent": True}
    assert await connected.call("pid") == before
    await connect.kind.close()


async def test_a_session_that_never_answers_is_replaced(connect_within: Callable[..., McpConnector]) -> None:
    connect = connect_within(call_seconds=10.0)
    connected = await connect.to_command(HOSTILE, "calls")
    before = await connected.call("pid")
    late = await asyncio.gather(*(connected.call("hang") for _ in range(2)), return_exceptions=True)
    assert all(isinstance(error, ToolError) and error.tool_code == "upstream_timeout" for error in late)
    assert await connected.call("pid") != before
    await connect.kind.close()


async def test_a_hundred_megabytes_are_not_taken(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "calls")
    with pytest.raises(ToolError) as large:
        await connected.call("huge")
    assert large.value.tool_code == "result_too_large"
    assert await connected.call("work") == "done {}"


async def test_closing_ends_everything_that_the_command_has_started(connect: McpConnector, tmp_path: Path) -> None:
    connected = await connect.to_command(HOSTILE, "family")
    leader = int(await connected.call("pid"))
    log = next((tmp_path / "mcp").glob("*.log"))
    await until(lambda: len(log.read_text().split()) > 1)
    child = int(log.read_text().split()[-1])
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    await connect.kind.close()
    await until(lambda: not is_alive(leader) and not is_alive(child))


async def test_a_thousand_tools_in_pages_are_all_read(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "paged")
    assert len(connected.loaded.tools) == 1_000 and connected.loaded.tools[-1].path == "paged.tool_999"


async def test_pages_that_go_in_a_circle_are_refused(connect: McpConnector) -> None:
    with pytest.raises(DocumentInvalid, match="endlessly"):
        await connect.to_command(HOSTILE, "endless")


async def test_a_server_without_tools_says_so(connect: McpConnector) -> None:
    with pytest.raises(DocumentInvalid, match="offers no tools"):
        await connect.to_command(HOSTILE, "none")


async def test_unknown_blocks_huge_numbers_and_half_characters_come_through(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "calls")
    assert (await connected.call("odd"))["content"] == [
        {"type": "new_kind", "value": 1e30},
        {"type": "resource", "uri": "memo://1", "mimeType": "text/plain", "base64": "aGk="},
        {"type": "resource_link", "uri": "memo://2", "name": "two"},
    ]
    assert await connected.call("structured") == {"n": 1e30, "half": "�"}


async def test_a_server_that_knows_only_the_newest_protocol_is_spoken_to_in_it(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "newest")
    assert connected.source.config["server"]["protocol"] == "2026-07-28"
    assert await connected.call("work", a=1) == 'done {"a": 1}'


async def test_failures_to_connect_are_not_repeated_at_once(kind: Mcp, connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "calls")
    gone = {**connected.source.config, "command": [sys.executable, HOSTILE, "refuses"]}
    object.__setattr__(connected.source, "config", gone)
    hints = []
    for _ in range(5):
        with pytest.raises(ToolError) as failed:
            await connected.call("work")
        assert failed.value.tool_code == "upstream_unreachable" and failed.value.tool_details == {"sent": False}
        assert "no licence" not in str(failed.value.to_dict())  # what a command complains of is for people
        hints.append(failed.value.hint)
    assert "next attempt" in hints[-1] and "next attempt" not in hints[0]


async def test_an_idle_connection_is_closed_and_opened_again_on_demand(
    connect_within: Callable[..., McpConnector],
) -> None:
    connect = connect_within(idle_seconds=0.1)
    connected = await connect.to_command(HOSTILE, "calls")
    before = int(await connected.call("pid"))
    await until(lambda: not is_alive(before))
    assert int(await connected.call("pid")) != before
    await connect.kind.close()
