"""Against servers that others wrote and published: one of npm's on files, one of PyPI's on time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from executor.errors import ToolError
from tests.sources.mcp.conftest import Connected, McpConnector, server_of_npm
from tests.support.packages import node, python_servers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    return made.resolve()


@pytest.fixture
async def files(connect: McpConnector, folder: Path) -> Connected:
    return await connect.to_line(node(), server_of_npm("server-filesystem"), str(folder))


async def test_files_are_written_read_and_listed(files: Connected, folder: Path) -> None:
    assert files.loaded.namespace == "secure_filesystem" and not files.loaded.skipped
    note = folder / "note.txt"
    await files.call("write_file", path=str(note), content="hällo")
    assert note.read_text() == "hällo"
    assert await files.call("read_text_file", path=str(note)) == {"content": "hällo"}
    assert "note.txt" in (await files.call("list_directory", path=str(folder)))["content"]


async def test_what_overwrites_is_destructive_and_what_only_reads_is_no_read(files: Connected) -> None:
    effects = {name: tool.effect for name, tool in files.tools.items()}
    assert effects["write_file"] == effects["edit_file"] == effects["move_file"] == "destructive"
    assert effects["read_text_file"] == effects["create_directory"] == "write"
    assert "read" not in effects.values()


async def test_the_servers_own_refusal_is_reported_in_its_words(files: Connected) -> None:
    with pytest.raises(ToolError, match="outside allowed directories") as denied:
        await files.call("read_text_file", path="/etc/hostname")
    assert denied.value.tool_code == "upstream_error" and not denied.value.retryable


async def test_a_file_larger_than_any_answer_is_refused_and_the_next_call_works(files: Connected, folder: Path) -> None:
    large = folder / "large.txt"
    large.write_bytes(b"x" * 5_000_000)
    with pytest.raises(ToolError) as refused:
        await files.call("read_text_file", path=str(large))
    assert refused.value.tool_code == "result_too_large"
    assert "large.txt" in (await files.call("list_directory", path=str(folder)))["content"]


async def test_fifty_writes_at_once_are_made_once_each(files: Connected, folder: Path) -> None:
    paths = [folder / f"{number}.txt" for number in range(50)]
    await asyncio.gather(*(files.call("write_file", path=str(path), content=path.stem) for path in paths))
    assert [path.read_text() for path in paths] == [path.stem for path in paths]


async def test_a_server_of_pypi_is_connected_and_called(connect: McpConnector) -> None:
    time = await connect.to_line(str(python_servers()), "-m", "mcp_server_time", "--local-timezone=UTC")
    assert time.loaded.namespace == "time" and set(time.tools) == {"get_current_time", "convert_time"}
    assert all(tool.effect == "write" and tool.output_schema is not None for tool in time.loaded.tools)
    given = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    converted = await time.call("convert_time", **given)
    assert converted["time_difference"] == "+9.0h" and "T21:00:00+09:00" in converted["target"]["datetime"]
    with pytest.raises(ToolError, match="Nowhere"):
        await time.call("get_current_time", timezone="Nowhere")
