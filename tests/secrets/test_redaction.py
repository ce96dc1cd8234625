from __future__ import annotations

import base64
import json
import time
from urllib.parse import quote

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.secrets.redaction import MARK, percent_lowered, redact, redact_json, redact_value

SECRET = 'sk-"live"/7f+Q ü=='


@pytest.mark.parametrize("shift", range(6))
@pytest.mark.parametrize("urlsafe", [False, True])
def test_base64_of_a_longer_text_is_found_at_every_offset(shift: int, urlsafe: bool) -> None:
    data = b"u" * shift + SECRET.encode() + b"tail"
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    assert MARK in redact(encode(data).decode(), [SECRET])


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"prefix{SECRET}suffix",
        json.dumps(SECRET),
        json.dumps(json.dumps(SECRET)),
        quote(SECRET),
        percent_lowered(quote(SECRET, safe="")),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        "".join(f"%{byte:02x}" for byte in SECRET.encode()),
    ],
)
def test_every_writing_is_replaced(text: str) -> None:
    assert MARK in redact(text, [SECRET])


def test_json_that_hides_letters_behind_escapes_is_read_first() -> None:
    hidden = '{"echo": "' + "".join(f"\\u{ord(c):04x}" for c in "sekrit-token") + '"}'
    assert json.loads(redact_json(hidden, ["sekrit-token"])) == {"echo": MARK}


def test_what_was_a_number_or_follows_a_backslash_stays_json() -> None:
    assert json.loads(redact_json('{"id":1234567890,"n":1}', ["12345678"])) == {"id": MARK, "n": 1}
    assert json.loads(redact_json('{"text":"a\\nabcd"}', ["nabcd"])) == {"text": "a\nabcd"}


def test_keys_and_nested_values_of_details_are_redacted() -> None:
    given = {"sekrit": [{"deep": "x sekrit y"}, 5], "ok": None}
    assert redact_value(given, ["sekrit"]) == {MARK: [{"deep": f"x {MARK} y"}, 5], "ok": None}


def test_the_mark_is_the_same_whatever_the_length() -> None:
    assert {redact(value, [value]) for value in ("abcd", "x" * 40, "y" * 4000)} == {MARK}


@given(st.text(min_size=4, max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_no_json_echo_survives(value: str, before: str, after: str) -> None:
    if value.strip() != value or any(0xD800 <= ord(c) < 0xE000 for c in value + before + after):
        return
    text = orjson.dumps({"echo": before + value + after}).decode()
    echoed = json.loads(redact_json(text, [value]))
    assert all(value not in part for pair in echoed.items() for part in pair if part != MARK) or value in MARK


def test_eight_megabytes_cost_a_bounded_time() -> None:
    rows = [{"id": number, "name": f"name {number}", "note": "abcdefghij" * 5} for number in range(90_000)]
    text = orjson.dumps(rows).decode()
    assert len(text) > 7_500_000
    began = time.process_time()
    assert redact_json(text, [f"secret-value-{n}-{'x' * 30}" for n in range(3)]) == text
    spent = time.process_time() - began
    assert spent < 5.0, f"{spent:.2f} s of CPU"
