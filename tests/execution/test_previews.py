"""Cutting a value down, and reading parts of one: pure functions."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executor.errors import ToolError
from executor.execution.artifacts.pages import at_pointer, occurrences, page_of
from executor.execution.artifacts.preview import preview
from executor.execution.artifacts.storage import FILE_CHARACTERS, files_in, is_large
from executor.model.artifact import media_type_of, name_of

ROOM = 2_000
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=3000),
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=300), inner, max_size=40),
    max_leaves=60,
)


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_a_preview_keeps_the_kind_fits_its_room_and_is_json(value: Any) -> None:
    shown = preview(value, ROOM)
    assert type(shown["value"]) is type(value)
    assert len(orjson.dumps(shown["value"]).decode()) <= 8 * ROOM  # control characters are written with six letters
    assert len(orjson.dumps(shown["cut"])) < 6_000


def test_a_preview_has_the_first_rows_and_counts_the_rest() -> None:
    rows = [{"id": number, "tags": ["a", "b"]} for number in range(5_000)]
    shown = preview({"items": rows, "total": 5_000}, ROOM)
    items = shown["value"]["items"]
    assert items == rows[: len(items)] and 5 < len(items) < 100
    assert shown["value"]["total"] == 5_000
    assert shown["cut"] == [{"at": "/items", "what": "items", "shown": len(items), "total": 5_000}]


def test_what_is_small_enough_is_shown_whole() -> None:
    value = {"a": [1, 2, {"b": None}], "c": "x" * 100}
    assert preview(value, ROOM) == {"value": value, "cut": [], "more": 0}


@pytest.mark.parametrize(
    "value",
    [
        [["x" * 50] * 1000] * 1000,
        {f"key {number}": "v" * 1000 for number in range(5_000)},
        {"k" * 100_000: 1, "j" * 100_000: [1] * 9_000},
        "one line " * 100_000,
        [[[[[[[[[[1] * 100] * 100]]]]]]]] * 50,
    ],
)
def test_whatever_its_shape_a_large_value_becomes_small(value: Any) -> None:
    shown = preview(value, ROOM)
    assert len(orjson.dumps(shown)) < 3 * ROOM
    assert shown["cut"] or shown["more"]


def test_a_small_text_is_never_large_and_a_file_inside_makes_it_so() -> None:
    assert not is_large('{"a":1}', 100)
    assert is_large("x" * 101, 100)
    data = base64.b64encode(b"\x89PNG" * 2_000).decode()
    assert is_large(f'{{"contentType": "image/png", "base64": "{data}"}}', 1_000_000)
    assert not is_large(f'{{"base64":"short","text":"{"x" * 5_000}"}}', 1_000_000)


def test_files_are_found_wherever_they_stand_and_broken_ones_are_left_alone() -> None:
    data = b"%PDF-1.7" * 1_000
    text = base64.b64encode(data).decode()
    value = {
        "content": [{"type": "image", "mimeType": "Image/PNG; q=1", "base64": text}, {"base64": "AAAA"}],
        "a/b": {"base64": text.replace("+", "-").rstrip("="), "filename": "../../etc/pass wd\u202e.PDF"},
        "bad": {"base64": "[redacted]" + "A" * FILE_CHARACTERS},
    }
    found = list(files_in(value))
    assert [(file.at, file.media_type, file.data == data) for file in found] == [
        ("/content/0/base64", "image/png", True),
        ("/a~1b/base64", "application/octet-stream", True),
    ]


@pytest.mark.parametrize(
    ("told", "media_type", "name"),
    [
        ("report.pdf", "application/pdf", "report.pdf"),
        ("../../etc/passwd", "text/plain", "passwd.txt"),
        ('x".html\r\nSet-Cookie: a=b', "text/html", "x_.html_Set-Cookie_a_b.html"),
        ("C:\\temp\\evil.exe", "application/x-msdownload", "evil.exe.bin"),
        ("\u202egnp.exe", "image/png", "gnp.exe.png"),
        (None, "image/png", "shop.get-3.png"),
        ("....", "image/png", "shop.get-3.png"),
        ("n" * 500, "application/json", "n" * 100 + ".json"),
    ],
)
def test_a_name_is_only_ever_a_name(told: Any, media_type: str, name: str) -> None:
    assert name_of(told, media_type, "shop.get-3") == name


@pytest.mark.parametrize(
    "told", [None, 5, "", "html", "text/html\r\nX: y", "text/ html", "a/b/c", "text/" + "x" * 500, "<img>/x"]
)
def test_what_is_no_media_type_is_bytes(told: Any) -> None:
    assert media_type_of(told) == "application/octet-stream"


def test_a_pointer_leads_to_its_place_or_says_how_far_it_led() -> None:
    value = {"items": [{"a/b": {"~": 5}}], "": 7}
    assert at_pointer(value, "") is value
    assert at_pointer(value, "/items/0/a~1b/~0") == 5
    assert at_pointer(value, "/") == 7
    for wrong in ("items", "/items/1", "/items/-1", "/items/x", "/items/0/a~1b/~0/c", "/items/٣", "/items/" + "9" * 99):
        with pytest.raises(ToolError) as raised:
            at_pointer(value, wrong)
        assert raised.value.tool_code == "not_found" and raised.value.hint


def test_pages_follow_each_other_to_the_end() -> None:
    for value, kind in (
        (list(range(10)), "array"),
        ({str(number): number for number in range(10)}, "object"),
        ("0123456789", "string"),
    ):
        offset, seen = 0, []
        while offset is not None:
            page = page_of(value, offset, 3)
            assert (page.kind, page.total) == (kind, 10)
            seen += list(page.value)
            offset = page.next
        assert seen == list(value)
    assert page_of("a\nb\nc", 1, 1, lines=True).value == "b"
    assert page_of(b"abc", 1, None).value == base64.b64encode(b"bc").decode()
    assert page_of([1, 2], 5, 3).value == [] and page_of(None, 3, 1).value is None


def test_a_text_is_found_in_keys_values_and_lines_whatever_its_case() -> None:
    value = {"users": [{"Name": "Ann LEE"}, {"name": "Bob"}], "lee": 5, "n": 1234}
    assert [one["pointer"] for one in occurrences(value, "lee")] == ["/lee", "/users/0/Name"]
    assert [one["pointer"] for one in occurrences(value, "23")] == ["/n"]
    assert list(occurrences("one\nTWO two\nthree", "two")) == [{"line": 1, "text": "TWO two"}]
    [found] = occurrences(["x" * 500 + "needle" + "y" * 500], "needle")
    assert len(found["text"]) < 200 and "needle" in found["text"]
