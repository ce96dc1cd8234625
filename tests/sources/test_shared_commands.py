"""Commands where several processes share a database."""

from __future__ import annotations

import pytest

from executor.errors import CommandNotShared
from executor.model.source import Source
from executor.sources.lifecycle.shared_commands import SharedCommands, host_command
from executor.sources.source_request import Previous, SourceRequest

COMMAND = SourceRequest(kind="mcp", command=("npx", "server"))


def commands(*, is_shared: bool, allowed: bool = False) -> SharedCommands:
    async def is_beside_others() -> bool:
        return is_shared

    return SharedCommands(is_beside_others, allowed)


async def test_only_a_new_command_is_refused_and_only_if_it_is_not_allowed() -> None:
    with pytest.raises(CommandNotShared):
        await commands(is_shared=True).check(COMMAND)
    await commands(is_shared=False).check(COMMAND)
    await commands(is_shared=True, allowed=True).check(COMMAND)
    await commands(is_shared=True).check(SourceRequest(kind="mcp", location="https://mcp.example/mcp"))
    await commands(is_shared=True).check(SourceRequest(kind="mcp", command=("npx",), previous=Previous("src_1")))
    with pytest.raises(CommandNotShared):
        edited = SourceRequest(kind="mcp", command=("npx",), previous=Previous("src_1", is_edited=True))
        await commands(is_shared=True).check(edited)


async def test_a_source_with_a_command_has_a_warning_where_it_is_shared() -> None:
    started = Source("src_1", "ws_1", "mcp", "files", "Files", {"command": ["npx"]})
    elsewhere = Source("src_1", "ws_1", "mcp", "files", "Files", {"location": "https://mcp.example/mcp"})
    assert await commands(is_shared=True, allowed=True).warn(started)
    assert not await commands(is_shared=False).warn(started)
    assert not await commands(is_shared=True).warn(elsewhere)


def test_the_command_to_run_can_be_pasted_and_holds_no_values() -> None:
    request = SourceRequest(command=("sh", "-c", "a 'b'"), options={"env": {"KEY": "canary"}})
    assert host_command(request) == """executor mcp-host --env KEY -- sh -c 'a '"'"'b'"'"''"""
    assert len(host_command(SourceRequest(command=("x" * 10_000,)))) < 100
