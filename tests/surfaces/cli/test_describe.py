"""Reading what a tool takes and gives, from a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from executor.demo.server import DemoServer
from executor.surfaces.cli import exit_codes
from tests.surfaces.cli.conftest import Cli, connect_sample

TOOL = "described.refunds.createRefund"


@pytest.fixture(scope="module")
def sample_source(shared: Cli) -> Iterator[DemoServer]:
    with connect_sample(shared, "described") as server:
        yield server
        shared("sources", "remove", "described", "--yes")


def test_a_tool_is_shown_with_a_call_as_an_example(shared: Cli, sample_source: DemoServer) -> None:
    shown = shared("tools", "describe", TOOL)
    assert shown.code == exit_codes.COMPLETED
    assert f"tools.{TOOL}(args: " in shown.out and f"example\nawait tools.{TOOL}({{ " in shown.out
    python = shared("tools", "describe", TOOL, "--language", "python", "--budget", "500")
    assert "async def createRefund(" in python.out and f"await tools.{TOOL}(" in python.out


def test_parts_schemas_and_json_are_there_on_request(shared: Cli, sample_source: DemoServer) -> None:
    assert "example" not in shared("tools", "describe", TOOL, "--part", "description").out
    assert "inputSchema" in shared("tools", "describe", TOOL, "--schemas").out
    told = shared("tools", "describe", TOOL, "--language", "python", "--json").json
    assert told["language"] == "python" and told["example"].startswith("await tools.")


def test_wrong_wishes_are_reported(shared: Cli, sample_source: DemoServer) -> None:
    missing = shared("tools", "describe", TOOL, "--type", "Nope", "--type", "Neither", "--json")
    assert missing.code == exit_codes.FAILED and "Nope, Neither" in missing.json["error"]["message"]
    assert shared("tools", "describe", TOOL, "--language", "cobol").code == exit_codes.USAGE
