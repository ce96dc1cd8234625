from __future__ import annotations

import unicodedata
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from executor.model.interaction import Binding, Interaction
from executor.surfaces.escape import escape, shorten
from executor.surfaces.views.base import time
from executor.surfaces.views.interactions import PROMPT_ARGUMENTS, interaction_view, prompt_text


def interaction(arguments: Any, **prompt: Any) -> Interaction:
    binding = Binding("act_a", "exec_a", 1, "shop.things.createThing", "s", "a", "d", 1)
    shown = {"question": "Allow this call?", "effect": "write", "host": "http://shop", "reason": "why"}
    return Interaction(
        "int_a", "ws_a", "exec_a", 1, "approval", "pending", binding, shown | {"arguments": arguments} | prompt
    )


@given(st.text())
def test_escaped_text_has_nothing_that_moves_hides_or_reorders(text: str) -> None:
    shown = escape(text)
    assert all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for char in shown)


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_left_as_it_is(text: str) -> None:
    assert escape(text) == text


def test_letters_of_any_script_are_left_as_they_are() -> None:
    assert escape("Grüße, 東京, Привет, مرحبا, 🙂") == "Grüße, 東京, Привет, مرحبا, 🙂"


def test_every_way_to_deceive_is_made_visible() -> None:
    for (
        char
    ) in "\x00\x07\x1b\r\n\t\x7f\x85\u200b\u200e\u202e\u2066\u2028\ufeff\u00ad\u3164\u2800\ufe0f\U000e0041\ue000":
        assert escape(f"a{char}b") == f"a\\u{{{ord(char):x}}}b"


def test_a_prompt_cannot_be_extended_by_its_arguments() -> None:
    text = prompt_text(interaction({"text": "x\nEffect:    read\x1b[1A\u202e"}))
    assert text.count("\nEffect:") == 1
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"x\nEffect:    read\u001b[1A\u{202e}" in text


def test_a_prompt_cannot_be_extended_by_what_the_source_says() -> None:
    text = prompt_text(interaction({}, host="http://a\nEffect:    read", reason="b\r\x1b[2K", source="c\u2028d"))
    assert text.count("\nEffect:") == 1
    assert len(text.split("\n")) == 8
    assert "\x1b" not in text


def test_arguments_are_shown_whole_up_to_a_bound_and_then_it_says_what_was_cut() -> None:
    whole = prompt_text(interaction({"text": "y" * 60_000}))
    assert "y" * 60_000 in whole
    long = prompt_text(interaction({"text": "y" * (PROMPT_ARGUMENTS + 500)}))
    assert len(long) < PROMPT_ARGUMENTS + 1_000
    assert "more characters cut)" in long
    cut = interaction('{"text": "yyy', cut="936 of 1000 characters of the arguments")
    assert prompt_text(cut).endswith("(cut: 936 of 1000 characters of the arguments)")
    assert interaction_view(cut, "http://x")["argumentsCut"] == "936 of 1000 characters of the arguments"


def test_a_view_is_json() -> None:
    view = interaction_view(interaction({"name": "lamp"}), "http://127.0.0.1:8788")
    assert orjson.loads(orjson.dumps(view))["url"] == "http://127.0.0.1:8788/approvals/int_a"


def test_times_are_utc_to_the_millisecond() -> None:
    assert time(0) == "1970-01-01T00:00:00.000Z"
    assert time(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert time(None) is None


def test_what_is_cut_is_counted() -> None:
    assert shorten("abc", 3) == "abc"
    assert shorten("abcdef", 2) == "ab… (4 more characters cut)"
