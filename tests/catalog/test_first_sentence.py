"""Text of documents made short."""

from __future__ import annotations

import pytest

from executor.catalog.signatures.escape import first_sentence


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## OAuth\n\nIn order to call it, log in. More.", "OAuth."),
        (
            "The SID of the [Account](https://www.twilio.com/docs/iam/api/account) that it belongs to.",
            "The SID of the Account that it belongs to.",
        ),
        ("See the [guide](https://example.com/a/very/long/add", "See the guide"),
        ("Takes **bold** and __strong__ words, e.g. these. Then more.", "Takes bold and strong words, e.g. these."),
        ('Use it:\n```json\n{"a": 1}\n```\nand wait. Then.', "Use it: and wait."),
        ("snake_case__name and 2**3 stay", "snake_case__name and 2**3 stay"),
    ],
)
def test_markdown_is_reduced_to_text(text: str, expected: str) -> None:
    assert first_sentence(text, 200) == expected
