"""From bytes to values: JSON or YAML, whatever its keys are made of, within bounds."""

from __future__ import annotations

from typing import Any

import orjson

from executor.errors import DocumentInvalid
from executor.sources.documents.fetch_errors import too_large
from executor.sources.documents.pinned_import import import_pinned

MAX_BYTES = 100_000_000
GIVE_DOCUMENT = "use the address of the OpenAPI document itself, often …/openapi.json or …/openapi.yaml"


def parse(data: bytes, where: str) -> Any:
    """Raises DocumentInvalid."""
    if len(data) > MAX_BYTES:
        raise too_large(where, MAX_BYTES)
    text = decode_text(data).strip()
    if not text:
        raise DocumentInvalid(f"{where} is empty", hint=GIVE_DOCUMENT)
    if text[:1] == b"<":
        raise DocumentInvalid(f"{where} is an HTML or XML page, not an OpenAPI document", hint=GIVE_DOCUMENT)
    if text[:1] in b"{[":
        parsed, problem = parse_json(text)
        if problem is None:
            return parsed
        return parse_yaml(text, where, problem)  # flow-style YAML also begins with a brace
    return parse_yaml(text, where, None)


def decode_text(data: bytes) -> bytes:
    """UTF-8, whatever byte order mark it came with."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return data.decode("utf-16").encode()
        except UnicodeError:
            return data
    return data.removeprefix(b"\xef\xbb\xbf")


def parse_json(text: bytes) -> tuple[Any, str | None]:
    try:
        return orjson.loads(text), None
    except orjson.JSONDecodeError:
        pass
    import json

    try:  # orjson refuses integers beyond 64 bits, which real documents contain
        return json.loads(text), None
    except RecursionError:
        return None, "it is nested too deeply"
    except ValueError as error:
        return None, str(error)


def parse_yaml(text: bytes, where: str, json_problem: str | None) -> Any:
    yaml_rs = import_pinned("yaml_rs")
    last = yaml_rs.DuplicateKeyPolicy.LastWins
    try:
        loaded: Any = yaml_rs.loads(text.decode(), parse_datetime=False, duplicate_key_policy=last)
    except (yaml_rs.YAMLDecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
        problem = json_problem or " ".join(str(error).split())[:300]
        kind = "JSON" if json_problem else "JSON or YAML"
        raise DocumentInvalid(f"{where} is not valid {kind}: {problem}", hint=GIVE_DOCUMENT) from error
    if isinstance(loaded, str) and json_problem is None:
        raise DocumentInvalid(f"{where} is plain text, not an OpenAPI document", hint=GIVE_DOCUMENT)
    return loaded


def describe_value(value: Any) -> str:
    names = {list: "a list", str: "text", int: "a number", float: "a number", bool: "a boolean", type(None): "nothing"}
    return names.get(type(value), type(value).__name__)
