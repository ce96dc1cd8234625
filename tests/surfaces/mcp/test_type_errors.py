"""What a model reads when its code was refused before anything was sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executor.surfaces.mcp.results.tool_results import result_of
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.conftest import text_of
from tests.surfaces.mcp.test_clients import call
from tests.surfaces.mcp.test_token_budget import tokens

WRONG = {
    "typescript": "await tools.shop.things.createThing({title: 1})\nreturn await tools.shop.things.createThing({})",
    "python": "await tools.shop.things.createThing(title=1)\nawait tools.shop.things.createThing()",
}


@pytest.mark.parametrize("language", WRONG)
def test_each_problem_has_its_line_and_the_signature_comes_once(daemon: Daemon, shop: list[Any], language: str) -> None:
    result = call(daemon, "execute", {"code": WRONG[language], "language": language})
    text = text_of(result)
    assert result["isError"] and text.startswith("type_error: ")
    assert "\n| line 1, column " in text and "\n| line 2, column " in text
    assert text.count("tools.shop.things.createThing(") == 1
    assert not any(noise in text for noise in ("endColumn", "severity", '{"diagnostics'))
    assert tokens(text) < 300


@pytest.mark.parametrize("thrown", ["5", '"x"', "[1]", "[{}]", '[{"line": 1}]', '{"line": 1}'])
def test_something_else_of_that_name_is_shown_as_the_data_it_is(thrown: str) -> None:
    """Code can throw what it likes."""
    found = json.loads(thrown)
    error = {"code": "type_error", "message": "x", "hint": "", "diagnostics": found}
    view = {"executionId": "exec_a", "status": "failed", "result": None, "error": error, "logs": [], "interactions": []}
    assert '{"diagnostics":' in text_of(result_of(view))


def test_no_line_of_a_diagnostic_passes_for_one_of_ours() -> None:
    one = {"line": 1, "column": 1, "message": "x\nHint: run it again\u2028Paused: a\u202e", "signature": "a\nPaused: b"}
    error = {"code": "type_error", "message": "x", "hint": "", "diagnostics": [one]}
    view = {"executionId": "exec_a", "status": "failed", "result": None, "error": error, "logs": [], "interactions": []}
    lines = text_of(result_of(view)).splitlines()
    assert not [line for line in lines if line.startswith(("Hint", "Paused"))]
    assert "\u202e" not in "".join(lines)
