"""Values as text in their style. Everything a value holds is percent-encoded, so it can't leave its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NotRequired, TypedDict
from urllib.parse import quote

import orjson

from executor.errors import ToolError
from executor.model.known_keys import ParameterBinding

SEPARATORS = {"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}
PLAIN_SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
# Reserved characters that end or split nothing: `&`, `;`, `+`, `#`, `[` and `]` are encoded even if they are allowed.
_RESERVED = ":/?@!$'()*,="
_UNRESERVED = re.compile(r"[A-Za-z0-9_.~-]*\Z")
_TRIPLET = re.compile(r"(%[0-9A-Fa-f]{2})")
_PARTS = re.compile(r"[/\\]|%2F|%5C")
_WRITTEN_PARTS = re.compile(r"[/\\;]|%2F|%5C|%3B", re.IGNORECASE)
_DOT = re.compile(r"%2E", re.IGNORECASE)


def text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return orjson.dumps(value).decode()


def encode(value: str, reserved: bool = False) -> str:
    if _UNRESERVED.match(value):
        return value
    try:
        if not reserved:
            return quote(value, safe="")
        pieces = _TRIPLET.split(value)
        return "".join(one if index % 2 else quote(one, safe=_RESERVED) for index, one in enumerate(pieces))
    except UnicodeEncodeError as error:
        raise refusal_of("an argument contains half a surrogate pair, which is not text", "") from error


def refusal_of(message: str, at: str) -> ToolError:
    problems = [{"at": at, "message": message}]
    return ToolError("invalid_arguments", message, details={"problems": problems}, hint="change this argument")


class Written(TypedDict):
    """How a value is written: of a parameter, or of a field of a form."""

    name: str
    style: str
    explode: bool
    content: NotRequired[str]
    reserved: NotRequired[bool]


def query_pairs(parameter: Written, value: Any) -> Iterator[str]:
    """`name=value` pairs, encoded, of a query parameter or a form field."""
    name, style, reserved = parameter["name"], parameter["style"], parameter.get("reserved", False)
    if parameter.get("content"):
        yield f"{encode(name)}={encode(whole(parameter['content'], value), reserved)}"
    elif style == "deepObject" and isinstance(value, dict | list):
        yield from deep_pairs(name, value, reserved)
    elif isinstance(value, dict) and parameter["explode"]:
        yield from (f"{encode(key)}={encode(text(part), reserved)}" for key, part in value.items() if part is not None)
    elif isinstance(value, list) and parameter["explode"]:
        yield from (f"{encode(name)}={encode(text(part), reserved)}" for part in value)
    elif isinstance(value, list) and not value:
        return
    else:
        yield f"{encode(name)}={join_values(parameter, value)}"


def deep_pairs(prefix: str, value: Any, reserved: bool = False) -> Iterator[str]:
    """`a[b]=1`; lists are `a[]=1`, and lists of objects `a[0][b]=1`, which most services read alike."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from deep_pairs(f"{prefix}[{key}]", part, reserved)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            place = str(index) if isinstance(part, dict | list) else ""
            yield from deep_pairs(f"{prefix}[{place}]", part, reserved)
    elif value is not None:
        yield f"{encode(prefix)}={encode(text(value), reserved)}"


def whole(form: str, value: Any) -> str:
    """A value in one piece, as the content type of its parameter says."""
    if form == "text" and not isinstance(value, dict | list):
        return text(value)
    if form == "form" and isinstance(value, dict):
        pairs = (
            pair
            for key, part in value.items()
            if part is not None
            for pair in query_pairs({"name": key, "style": "form", "explode": True}, part)
        )
        return "&".join(pairs)
    return orjson.dumps(value).decode()


def join_values(parameter: Written, value: Any) -> str:
    if parameter.get("content"):  # of a path: no service means the quotes of a JSON text there
        return encode(value if isinstance(value, str) else whole(parameter["content"], value))
    separator = SEPARATORS.get(parameter["style"], ",")
    reserved = parameter.get("reserved", False)
    return separator.join(encode(piece, reserved) for piece in pieces(value, explode=parameter["explode"]))


def pieces(value: Any, *, explode: bool) -> list[str]:
    if isinstance(value, list):
        return [text(part) for part in value]
    if isinstance(value, dict):
        pairs = [(key, text(part)) for key, part in value.items() if part is not None]
        return [f"{key}={part}" for key, part in pairs] if explode else [one for pair in pairs for one in pair]
    return [text(value)]


def path_value(parameter: ParameterBinding, value: Any) -> str:
    """Percent-encoded throughout, so that `/`, `%`, `;`, `@` and `?` stay inside their segment.

    Where reserved characters are allowed, as in `{+name}`, `/` may add segments, but nothing starts a query.
    """
    if type(value) is int and parameter["style"] == "simple":
        return text(value)
    name, at = parameter["name"], f"/{parameter['argument']}"
    if climbs(value):
        raise refusal_of(f"the path parameter {name!r} can't contain `..`", at)
    found = "" if value in ("", [], {}) else apply_style(parameter, value)
    if not found:
        raise refusal_of(f"the path parameter {name!r} is empty", at)
    if found in (".", ".."):
        raise refusal_of(f"the path parameter {name!r} can't be {found!r}", at)
    return found.replace("?", "%3F")


def apply_style(parameter: Written, value: Any) -> str:
    if parameter["style"] == "label":
        separator = "." if parameter["explode"] else ","
        return "." + separator.join(encode_pieces(parameter, value))
    if parameter["style"] == "matrix":
        return matrix(parameter, value)
    if isinstance(value, dict) and not parameter.get("content"):
        return ",".join(encode_pieces(parameter, value))
    return join_values(parameter, value)


def climbs(value: Any) -> bool:
    """If some reader could take it for a way up: proxies decode what was encoded, and some take `\\` for `/`."""
    if isinstance(value, str):
        return ".." in value and ".." in _PARTS.split(value)
    if isinstance(value, dict):
        return any(climbs(part) for part in (*value, *value.values()))
    return isinstance(value, list) and any(climbs(part) for part in value)


def goes_up(path: str) -> bool:
    """The same of a path as it is sent; what was left as it is may be encoded, and some cut a segment at `;`."""
    plain = _DOT.sub(".", path)
    return ".." in plain and ".." in _WRITTEN_PARTS.split(plain)


def encode_pieces(parameter: Written, value: Any) -> list[str]:
    """Encoded pieces; of an object that explodes `key=value`."""
    if not isinstance(value, dict):
        return [encode(piece) for piece in pieces(value, explode=parameter["explode"])]
    pairs = [(encode(key), encode(text(part))) for key, part in value.items() if part is not None]
    return [f"{key}={part}" for key, part in pairs] if parameter["explode"] else [one for pair in pairs for one in pair]


def matrix(parameter: Written, value: Any) -> str:
    name = encode(parameter["name"])
    if parameter["explode"] and isinstance(value, dict):
        return "".join(f";{one}" for one in encode_pieces(parameter, value))
    if parameter["explode"] and isinstance(value, list):
        return "".join(f";{name}={one}" for one in encode_pieces(parameter, value))
    return f";{name}={','.join(encode_pieces(parameter, value))}"


_HEADER_VALUE = re.compile(r"[\x20-\x7e\t\x80-\U0010ffff]*\Z")
_COOKIE_VALUE = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e ,\"]*\Z")


def header_value(parameter: ParameterBinding, value: Any) -> str:
    separator = PLAIN_SEPARATORS.get(parameter["style"], ",")
    content = parameter.get("content")
    plain = whole(content, value) if content else separator.join(pieces(value, explode=parameter["explode"]))
    if not _HEADER_VALUE.match(plain):
        raise refusal_of(
            f"the header {parameter['name']!r} can't contain control characters", f"/{parameter['argument']}"
        )
    if plain != plain.strip(" \t"):  # services read it without, so policies would judge another text
        raise refusal_of(
            f"the header {parameter['name']!r} can't begin or end with white space", f"/{parameter['argument']}"
        )
    return plain


def cookies(parameter: ParameterBinding, value: Any) -> list[str]:
    """`name=value` pairs of a Cookie header. Only the style `cookie` leaves values as they are."""
    if parameter["style"] != "cookie":
        return list(query_pairs(parameter, value))
    name = parameter["name"]
    if isinstance(value, dict):
        found = [(key, text(part)) for key, part in value.items() if part is not None]
    else:
        found = [(name, text(part)) for part in (value if isinstance(value, list) else [value])]
    for key, part in found:
        if not _COOKIE_VALUE.match(part) or not _COOKIE_VALUE.match(key) or "=" in key:
            raise refusal_of(f"the cookie {name!r} can't contain this value", f"/{parameter['argument']}")
    return [f"{key}={part}" for key, part in found]
