from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from executor.surfaces.cli.output import clean, facts, json_text, table

HOSTILE = "a\x1b[2Jb\u202ec\u200bd\x9be\r\nf"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda value: st.lists(value) | st.dictionaries(st.text(), value),
    )
)
def test_printed_json_reads_back_as_the_same_value(value: object) -> None:
    assert json.loads(json_text(value)) == value


def test_printed_json_can_not_move_the_cursor_or_reorder_text() -> None:
    printed = json_text([HOSTILE, "\ud800", "grün 日本"])
    assert json.loads(printed) == [HOSTILE, "\ud800", "grün 日本"]
    assert "grün 日本" in printed
    assert not set(printed) & {"\x1b", "\u202e", "\u200b", "\x9b", "\r", "\ud800"}


def test_printed_json_hides_no_text_in_characters_that_draw_nothing() -> None:
    hidden = "\U000e0041\u2800\u034f\ufe0f\u3164\xad\u180e\ufffa"
    printed = json_text({hidden: hidden})
    assert printed.isascii() and json.loads(printed) == {hidden: hidden}


def test_remote_text_in_tables_and_facts_stays_on_its_line() -> None:
    assert table([{"a": HOSTILE, "b": HOSTILE}], {"a": "A", "b": "B"}).count("\n") == 1
    assert "\n" not in facts([("a", HOSTILE)])
    assert "\x1b" not in clean(HOSTILE)


def test_columns_line_up() -> None:
    lines = table([{"a": "x" * 10, "b": 1}, {"a": "y", "b": None}], {"a": "A", "b": "B"}).splitlines()
    assert lines == ["A           B", "xxxxxxxxxx  1", "y"]
