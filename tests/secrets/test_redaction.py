from __future__ import annotations

import base64
import json
from urllib.parse import quote

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.secrets.encodings import percent_lowered
from executor.secrets.redaction import MARK, redact, redact_json, redact_value
from tests.support.cpu import cpu_seconds

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
    secrets = [f"secret-value-{n}-{'x' * 30}" for n in range(3)]
    assert redact_json(text, secrets) == text
    spent = cpu_seconds(lambda: redact_json(text, secrets))
    assert spent < 5.0, f"{spent:.2f} s of CPU"


TOKEN = "Tok3n-ALICE-9f8e7d6c5b"
DATA = TOKEN.encode()
MORE = {
    "base32": base64.b32encode(DATA).decode(),
    "base32 of a longer text": base64.b32encode(b"xy" + DATA + b"tail").decode().lower(),
    "base64 of base64": base64.b64encode(base64.b64encode(b"user:" + DATA)).decode(),
    "base64url of base64url": base64.urlsafe_b64encode(base64.urlsafe_b64encode(DATA)).decode().rstrip("="),
    "base64 in lines": base64.encodebytes(DATA * 3).decode(),
    "utf-16 in base64": base64.b64encode(TOKEN.encode("utf-16")).decode(),
    "utf-16-be in base64": base64.b64encode(b"\0a" + TOKEN.encode("utf-16-be")).decode(),
    "utf-16 in hex": TOKEN.encode("utf-16-le").hex(),
    "utf-16 as text": TOKEN.encode("utf-16-le").decode("latin-1"),
    "other case": TOKEN.swapcase(),
    "escapes": "".join(f"\\u{ord(c):04x}" for c in TOKEN),
    "some escapes": "".join(f"\\u{ord(c):04X}" if n % 3 else c for n, c in enumerate(TOKEN)),
    "escapes escaped": "".join(f"\\\\u{ord(c):04x}" for c in TOKEN),
    "escapes in braces": "".join(f"\\u{{{ord(c):x}}}" for c in TOKEN),
    "hex escapes": "".join(f"\\x{ord(c):02x}" for c in TOKEN),
    "octal escapes": "".join(f"\\{ord(c):03o}" for c in TOKEN),
    "decimal entities": "".join(f"&#{ord(c)};" for c in TOKEN),
    "padded entities": "".join(f"&#00{ord(c)};" for c in TOKEN),
    "hex entities": "".join(f"&#x{ord(c):X};" for c in TOKEN),
    "one entity": f"&#84;{TOKEN[1:]}",
    "entities escaped": "".join(f"&amp;#{ord(c)};" for c in TOKEN),
    "quoted-printable": "".join(f"={ord(c):02X}" for c in TOKEN),
    "quoted-printable in lines": f"{TOKEN[:9]}=\n{TOKEN[9:]}",
    "percent": "".join(f"%{ord(c):02x}" for c in TOKEN),
    "some percent": "".join(f"%{ord(c):02x}" if n % 2 else c for n, c in enumerate(TOKEN)),
    "percent of percent": "".join(f"%25{ord(c):02x}" for c in TOKEN),
    "zero width": "\u200b".join(TOKEN),
    "line break": f"{TOKEN[:7]}\n{TOKEN[7:]}",
    "spaces": "  ".join(TOKEN),
    "other separators": TOKEN.replace("-", "_"),
    "hex apart": " ".join(f"{ord(c):02x}" for c in TOKEN),
    "hex numbers": ", ".join(f"0x{ord(c):02x}" for c in TOKEN),
    "mixed": f"&#84;o%6b\\u0033{TOKEN[4:]}",
}


# Letters of which only some are escaped, or escaped twice, are looked for in texts of up to 256 KB.
ONLY_SMALL = ("some escapes", "escapes in braces", "padded entities", "one entity", "entities escaped", "some percent",
              "percent of percent", "mixed")  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_more_writings_are_replaced(name: str) -> None:
    text = f"before {MORE[name]} after"
    assert MARK in redact(text, [TOKEN])
    echoed = json.loads(redact_json(json.dumps({"echo": text, "ok": "x"}), [TOKEN]))
    assert MARK in echoed["echo"] and echoed["ok"] == "x"
    if name not in ONLY_SMALL:
        assert MARK in redact("z" * 300_000 + text, [TOKEN])


@pytest.mark.parametrize("part", [TOKEN[:-1], TOKEN[1:], TOKEN[: len(TOKEN) // 2], "tok3n alice 9f8e", TOKEN[::-1]])
def test_parts_are_left_alone_so_that_no_one_can_guess_piece_by_piece(part: str) -> None:
    for text in (part, part.upper(), base64.b64encode(part.encode()).decode(), " ".join(part)):
        assert redact(text, [TOKEN]) == text


def test_the_letters_of_a_value_that_is_mostly_signs_are_not_the_value() -> None:
    assert redact("hunter22 and HUNTER22", ["hunter22!%$&/()=?+"]) == "hunter22 and HUNTER22"
    assert redact("x hunter22!%$&/()=?+", ["hunter22!%$&/()=?+"]) == f"x {MARK}"


def test_strings_of_json_are_not_joined_to_find_a_value() -> None:
    text = json.dumps({"a": TOKEN[:8], "b": TOKEN[8:]})
    assert redact_json(text, [TOKEN]) == text


@pytest.mark.parametrize(
    "text",
    ["\\" * 200_000, "t" + " " * 400_000, "%25" * 80_000, "&amp;" * 50_000, "&#" + "0" * 200_000, "Tok3n-" * 40_000,
     "&#" + "9" * 9_000 + ";", "T-" * 100_000 + TOKEN.lower()],
)  # fmt: skip
def test_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    """Twice the text may cost twice as much, and some; the square of it would be four times."""
    redact(text, [TOKEN])
    half = cpu_seconds(lambda: redact(text[: len(text) // 2], [TOKEN]))
    assert cpu_seconds(lambda: redact(text, [TOKEN])) < 3 * half + 0.05
