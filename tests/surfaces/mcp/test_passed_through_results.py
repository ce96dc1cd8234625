"""Results of tools that a toolkit passes through: what a plain tool would return, block by block."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from executor.surfaces.mcp.results.media import MOST_BLOCKS, Media
from executor.surfaces.mcp.results.passed_through import direct_blocks
from executor.surfaces.mcp.results.tool_results import result_of
from tests.surfaces.mcp.test_media import png

PIXEL = base64.b64encode(png()).decode()
IMAGE = {"type": "image", "mimeType": "image/png", "base64": PIXEL}
SHOWN = {"type": "image", "mimeType": "image/png", "data": PIXEL}
NOTE = {"uri": "note://1", "mimeType": "text/plain", "text": "hi"}
LINK = {"type": "resource_link", "uri": "note://2", "name": "two"}


def view_of(result: Any, **more: Any) -> Any:
    return {
        "executionId": "exec_1", "status": "completed", "result": result, "logs": [], "error": None, "interactions": [],
        "language": "typescript", **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("two\nlines", [{"type": "text", "text": "two\nlines"}]),
        ("turned \u202eback", [{"type": "text", "text": "turned \\u202eback"}]),
        ({"content": [{"type": "text", "text": "a"}, dict(IMAGE)]}, [{"type": "text", "text": "a"}, SHOWN]),
        ({"content": [{"type": "resource", **NOTE}]}, [{"type": "resource", "resource": NOTE}]),
        (
            {"content": [{"type": "resource", "uri": "note://3", "base64": "AAA="}]},
            [{"type": "resource", "resource": {"uri": "note://3", "blob": "AAA="}}],
        ),
        (
            {"content": [LINK]},
            [{"type": "text", "text": '{"type":"resource_link","uri":"note://2","name":"two"}'}],
        ),
        (
            {"content": [{"type": "image", "mimeType": "image/png", "base64": "AAA="}]},
            [{"type": "text", "text": '{"type":"image","mimeType":"image/png","base64":"AAA="}'}],
        ),
        ({"content": "text"}, None),
        ({"content": []}, None),
        ({"content": [IMAGE], "more": 1}, None),
        ([1, 2], None),
        (7, None),
    ],
)
def test_text_and_content_of_servers_are_given_as_they_are(value: Any, expected: Any) -> None:
    assert direct_blocks(value, Media()) == expected


def test_no_more_images_are_shown_than_an_answer_may_have() -> None:
    found = direct_blocks({"content": [dict(IMAGE) for _ in range(MOST_BLOCKS + 1)]}, Media())
    assert found is not None and [one["type"] for one in found] == ["image"] * MOST_BLOCKS + ["text"]


def test_code_that_returns_text_still_gives_json_and_logs_are_apart() -> None:
    logged = view_of("a", logs=[{"level": "info", "text": "b"}])
    assert result_of(view_of("a"))["content"][0]["text"] == '"a"'
    [text, logs] = result_of(logged, is_direct=True)["content"]
    assert text["text"] == "a" and logs["text"] == "Logs:\n[info] b"
