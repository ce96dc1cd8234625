"""What a setting may be. Each function reads a value of the config file or of a variable.

For anything else it raises ValueError with what it expected.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

LOG_LEVELS = ("debug", "info", "warning", "error")


class Given(NamedTuple):
    """`origin` is the file or variable that the value is from. Paths are relative to `folder`."""

    value: Any
    origin: str
    folder: Path


def read_integer(low: int, high: int) -> Callable[[Given], int]:
    def convert(given: Given) -> int:
        value = given.value
        number = int(value) if isinstance(value, str) and value.strip().isascii() and _digits(value) else value
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise ValueError(f"expected a whole number from {low} to {high}")
        return number

    return convert


def _digits(text: str) -> bool:
    return text.strip().isdecimal() and len(text) <= 20


def read_text(given: Given) -> str:
    if not isinstance(given.value, str) or not given.value.strip() or not given.value.isprintable():
        raise ValueError("expected text")
    return given.value.strip()


def read_path(given: Given) -> Path:
    return (given.folder / Path(read_text(given)).expanduser()).absolute()


def read_flag(given: Given) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    flag = words.get(str(given.value).strip().lower())
    if flag is None:
        raise ValueError("expected true or false")
    return flag


def read_level(given: Given) -> str:
    level = read_text(given).lower()
    if level not in LOG_LEVELS:
        raise ValueError(f"expected one of {', '.join(LOG_LEVELS)}")
    return level


def read_one_of(*words: str) -> Callable[[Given], str]:
    def convert(given: Given) -> str:
        # TOML writes on and off as booleans too.
        is_switch = isinstance(given.value, bool)
        word = {True: "on", False: "off"}.get(given.value) if is_switch else read_text(given).lower()
        if word not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return str(word)

    return convert


def read_switch(given: Given) -> str:
    """On, off, or auto: as the command has it."""
    if str(given.value).strip().lower() == "auto":
        return "auto"
    try:
        return "on" if read_flag(given) else "off"
    except ValueError:
        raise ValueError("expected true, false or auto") from None


def read_some_of(*words: str) -> Callable[[Given], tuple[str, ...]]:
    """A list, or text with commas between."""

    def convert(given: Given) -> tuple[str, ...]:
        value = given.value.split(",") if isinstance(given.value, str) else given.value
        chosen = [str(one).strip().lower() for one in value] if isinstance(value, list) else []
        if not chosen or any(one not in words for one in chosen):
            raise ValueError(f"expected some of {', '.join(words)}")
        return tuple(dict.fromkeys(chosen))

    return convert


def read_origin(given: Given) -> str:
    from urllib.parse import urlsplit

    text = read_text(given).rstrip("/").lower()
    parts = urlsplit(text)
    plain = f"{parts.scheme}://{parts.netloc}" == text and "@" not in text
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise ValueError("expected an address such as https://executor.example, without a path")
    return text


def read_object_url(given: Given) -> str:
    """Credentials are never a part of it: it is shown by `executor doctor` and in logs."""
    import re
    from urllib.parse import parse_qsl, urlsplit

    text = read_text(given)
    parts = urlsplit(text)
    options = parse_qsl(parts.query, keep_blank_values=True)
    endpoint = urlsplit(dict(options).get("endpoint", "https://s3"))
    if "@" in text or any("key" in name or "secret" in name or "token" in name for name, _ in options):
        raise ValueError("it must not have credentials: set AWS_ACCESS_KEY_ID or artifacts_credentials_file")
    if (
        parts.scheme != "s3"
        or not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,62}", parts.netloc)
        or not re.fullmatch(r"(/[\w.!*'()-]+)*/?", parts.path, re.ASCII)
        or {".", ".."} & set(parts.path.split("/"))
        or parts.fragment
        or len(dict(options)) != len(options)
        or not set(dict(options)) <= {"endpoint", "region"}
        or endpoint.scheme not in ("http", "https")
        or not endpoint.hostname
        or endpoint.query
    ):
        raise ValueError("expected s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")
    return text


def read_transit_key(given: Given) -> str:
    import re

    text = read_text(given)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", text, re.ASCII) or {".", ".."} & set(text.split("/")):
        raise ValueError("expected MOUNT/NAME of a transit key, such as transit/executor")
    return text


def read_names(given: Given) -> tuple[str, ...]:
    """A list, or text with commas between."""
    value = given.value
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip().isidentifier() for name in names):
        raise ValueError("expected names of environment variables")
    return tuple(name.strip() for name in names)


def read_words(given: Given) -> tuple[str, ...]:
    """Scopes: a list, or text with blanks between. May be empty."""
    words = given.value.split() if isinstance(given.value, str) else given.value
    if not isinstance(words, list) or not all(isinstance(word, str) and _is_word(word) for word in words):
        raise ValueError("expected scopes, such as executor:execute")
    return tuple(words)


def _is_word(word: str) -> bool:
    return bool(word) and all("!" <= letter <= "~" and letter not in '"\\' for letter in word)


def read_url(given: Given) -> str:
    """As it is written: an issuer is compared letter by letter."""
    from urllib.parse import urlsplit

    text = read_text(given)
    parts = urlsplit(text)
    plain = text.isascii() and not any(letter in text for letter in " @\\") and not parts.query and not parts.fragment
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise ValueError("expected an address such as https://login.example/realm")
    return text


def read_patterns(given: Given) -> tuple[str, ...]:
    """Names with `*` in them: a list, or text with commas between."""
    value = given.value.split(",") if isinstance(given.value, str) else given.value
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip().isprintable() for one in value):
        raise ValueError("expected names or patterns, such as claude-*")
    return tuple(one.strip() for one in value if one.strip())


def read_lower_patterns(given: Given) -> tuple[str, ...]:
    return tuple(one.lower() for one in read_patterns(given))


def read_dollars(given: Given) -> int:
    """In nanodollars."""
    try:
        amount = float(given.value) if isinstance(given.value, str | int | float) else -1.0
    except ValueError:
        amount = -1.0
    if isinstance(given.value, bool) or not 0 <= amount <= 1_000_000:
        raise ValueError("expected an amount in US dollars, from 0 to 1000000")
    return round(amount * 1_000_000_000)


def read_json(given: Given) -> str:
    """As text. What is wrong in it stops no daemon, so it is read later."""
    import json

    return given.value if isinstance(given.value, str) else json.dumps(given.value, default=str)


def read_reference(given: Given) -> str:
    text = given.value.strip() if isinstance(given.value, str) else ""
    kind, _, where = text.partition(":")
    if kind == "env" and where.isidentifier():
        return text
    if kind == "file" and where and where.isprintable():
        return f"file:{(given.folder / Path(where).expanduser()).absolute()}"
    raise ValueError("expected env:NAME or file:/path, never the secret itself")


def read_pairs(expected: str) -> Callable[[Given], tuple[tuple[str, str], ...]]:
    """Names and what they stand for: a table, JSON, or text such as `app=/srv/app.git, docs=/srv/docs.git`."""

    def convert(given: Given) -> tuple[tuple[str, str], ...]:
        pairs = _split_pairs(given.value) if isinstance(given.value, str) else given.value
        if not isinstance(pairs, dict) or not all(isinstance(one, str) and one.strip() for one in pairs.values()):
            raise ValueError(f"expected {expected}")
        found = {str(name).strip(): value.strip() for name, value in pairs.items()}
        if not all(name.replace("-", "_").isidentifier() for name in found):
            raise ValueError("a name must have only letters, digits, `-` and `_`")
        return tuple(found.items())

    return convert


def _split_pairs(text: str) -> Any:
    if text.lstrip().startswith("{"):
        import json

        return json.loads(text)
    return dict(one.split("=", 1) for one in text.split(",") if "=" in one)


def read_host(given: Given) -> str:
    host = read_text(given)
    if any(character in host for character in "/@[] ") or host.count(":") == 1:
        raise ValueError("expected a host name or address without port or scheme")
    return host
