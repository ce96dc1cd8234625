"""Text of documents made short."""

from __future__ import annotations

import pytest

from executor.catalog.text import first_sentence


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Makes a refund. Then more.", "Makes a refund."),
        ("<p>Makes a refund.</p>\n<p>Then more.</p>", "Makes a refund."),
        ('<P>See <a href="https://x.example/?a=1">the guide</a>!</P>', "See the guide !"),
        ("Lists where a < b and Map<string, number> hold", "Lists where a < b and Map<string, number> hold"),
    ],
)
def test_the_first_sentence_is_taken_without_markup(text: str, short: str) -> None:
    assert first_sentence(text, 160) == short
