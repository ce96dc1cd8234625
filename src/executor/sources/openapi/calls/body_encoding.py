"""Bodies as bytes: JSON, forms, multipart with files, lines, text and binary."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Sequence
from fnmatch import fnmatchcase
from mimetypes import MimeTypes
from typing import Any

import orjson

from executor.model.known_keys import BodyBinding, EncodingBinding
from executor.network.files import HANDLE, Kept, Upload
from executor.sources.openapi.calls.media import is_json
from executor.sources.openapi.calls.parameter_styles import (
    PLAIN_SEPARATORS,
    Written,
    pieces,
    query_pairs,
    refusal_of,
    text,
)

MAX_FILES = 10_000
PARTS_OF_FILE = frozenset({"base64", *HANDLE})
NAMES = MimeTypes()
for _type, _end in (
    ("text/markdown", ".md"), ("application/yaml", ".yaml"), ("application/yaml", ".yml"), ("image/webp", ".webp"),
    ("image/heic", ".heic"), ("audio/ogg", ".ogg"), ("audio/flac", ".flac"), ("application/x-ndjson", ".jsonl"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx"),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", ".pptx"),
):  # fmt: skip
    NAMES.add_type(_type, _end)
PACKED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


def payload(body: BodyBinding, value: Any) -> tuple[bytes | Upload, str]:
    """The bytes and their content type."""
    form, media_type = body.get("form", "json"), body["mediaType"]
    if form == "json":
        return dump(value), media_type
    if form == "form":
        return urlencode_body(body, value), media_type
    if form == "multipart":
        return multipart(body, value)
    if form == "lines":
        return b"".join(dump(one) + b"\n" for one in (value if isinstance(value, list) else [value])), media_type
    data, own_type = file_content(value, "/body")
    if "*" in media_type:
        own_type = own_type or type_by_name(value.get("filename") if isinstance(value, dict) else None)
        return as_body([data]), within(media_type, own_type)
    if isinstance(data, Kept):
        return as_body([data]), media_type
    if form in ("text", "xml") and not data.isascii() and "charset" not in media_type:
        media_type += "; charset=utf-8"
    return data, media_type


def within(wanted: str, declared: str) -> str:
    """The type of a body where the document names only a range, such as `image/*`."""
    kind = wanted.partition("/")[0].strip().lower()
    if kind == "text" and not declared:
        return "text/plain; charset=utf-8"
    if kind in ("*", "application"):
        declared = declared or "application/octet-stream"
    if kind != "*" and not declared.lower().startswith(f"{kind}/"):
        raise refusal_of(f"`contentType` must be one of {wanted}, not {declared[:80]!r}", "/body/contentType")
    return safe_type(declared, "body")


def dump(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise refusal_of(f"an argument can't be written as JSON: {error}", "/body") from error


def urlencode_body(body: BodyBinding, value: Any) -> bytes:
    pairs: list[str] = []
    for name, part in value.items() if isinstance(value, dict) else ():
        if part is not None:
            pairs.extend(query_pairs(field(name, part, body["encoding"].get(name, {})), part))
    return "&".join(pairs).encode()


def field(name: str, value: Any, encoding: EncodingBinding) -> Written:
    """How a form field is written. Objects without a style of their own are JSON, also inside lists."""
    style = encoding.get("style", "form")
    is_declared = "style" in encoding or "explode" in encoding
    declared = encoding.get("contentType", "")
    content = "json" if (isinstance(value, dict) and not is_declared) or (declared and is_json(declared)) else ""
    explode = encoding.get("explode", style in ("form", "deepObject"))
    reserved = encoding.get("reserved", False)
    return {"name": name, "style": style, "explode": explode, "content": content, "reserved": reserved}


def as_body(parts: Sequence[bytes | Kept]) -> bytes | Upload:
    """Bytes, unless there is a file among them that is read while it is sent."""
    plain = [part for part in parts if isinstance(part, bytes)]
    return b"".join(plain) if len(plain) == len(parts) else Upload(tuple(parts))


def multipart(body: BodyBinding, value: Any) -> tuple[bytes | Upload, str]:
    boundary, count = secrets.token_hex(16), 0
    found: list[bytes | Kept] = []
    for name, given in value.items() if isinstance(value, dict) else ():
        encoding = body["encoding"].get(name, {})
        for part in parts_of(given, encoding):
            head, data = part_of(name, part, encoding)
            found += [f"--{boundary}\r\n".encode() + head, data, b"\r\n"]
            count += 1
            if count > MAX_FILES:
                raise refusal_of(f"more than {MAX_FILES:,} parts can't be sent at once", f"/{name}")
    media_type = body["mediaType"].partition(";")[0].strip()
    return as_body([*found, f"--{boundary}--\r\n".encode()]), f"{media_type}; boundary={boundary}"


def parts_of(value: Any, encoding: EncodingBinding) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, list) and not is_json(encoding.get("contentType", "")):
        if encoding.get("explode") is False and not encoding.get("file"):
            separator = PLAIN_SEPARATORS.get(encoding.get("style", "form"), ",")
            return [separator.join(pieces(value, explode=False))]
        return [one for one in value if one is not None]
    return [value]


def part_of(name: str, value: Any, encoding: EncodingBinding) -> tuple[bytes, bytes | Kept]:
    declared = encoding.get("contentType", "")
    head = f'Content-Disposition: form-data; name="{quote_name(name)}"'
    is_upload = isinstance(value, dict) and ("base64" in value or "artifact" in value) and set(value) <= PARTS_OF_FILE
    data: bytes | Kept
    if encoding.get("file") or is_upload:
        data, own_type = file_content(value, f"/{name}")
        filename = (value.get("filename") or value.get("name")) if isinstance(value, dict) else None
        head += f'; filename="{quote_name(filename or name)}"'
        allowed = encoding.get("contentTypes", declared)
        content_type = own_type or chosen_type(allowed, type_by_name(filename)) or "application/octet-stream"
    elif isinstance(value, dict | list) or (declared and is_json(declared)):
        data, content_type = dump(value), chosen_type(declared) or "application/json"
    else:
        data, content_type = text(value).encode("utf-8", "replace"), chosen_type(declared)
    if content_type:
        head += f"\r\nContent-Type: {safe_type(content_type, name)}"
    return head.encode() + b"\r\n\r\n", data


def file_content(value: Any, at: str) -> tuple[bytes | Kept, str]:
    """Bytes and content type of a file: `{base64, contentType?}`, one that is kept, or text as it is."""
    if isinstance(value, dict) and isinstance(kept := value.get("artifact"), Kept):
        return kept, value.get("contentType") or ""
    if isinstance(value, dict) and set(value) <= PARTS_OF_FILE and "base64" not in value:
        raise refusal_of("a file needs `base64` or `artifact`", at)
    if isinstance(value, dict) and isinstance(value.get("base64"), str):
        encoded = value["base64"].replace("-", "+").replace("_", "/")
        encoded = "".join(encoded.partition(",")[2].split() if encoded.startswith("data:") else encoded.split())
        try:
            data = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except (binascii.Error, ValueError) as error:
            raise refusal_of(f"`base64` can't be decoded: {error}", f"{at}/base64") from error
        return data, value.get("contentType") or ""
    if isinstance(value, dict | list):
        return dump(value), "application/json"
    return text(value).encode("utf-8", "replace"), ""


def type_by_name(filename: Any) -> str:
    """Empty if the name says nothing. The same on every machine: the system's own lists are not asked."""
    if not isinstance(filename, str):
        return ""
    found, packed = NAMES.guess_type(filename.replace("\\", "/").rpartition("/")[2])
    return PACKED.get(packed, "application/octet-stream") if packed else found or ""


def chosen_type(declared: str, likely: str = "") -> str:
    """Of the types that the document allows the likely one, else the first that is no range; else the likely one."""
    named = [one.strip() for one in declared.split(",") if one.strip()]
    if likely and any(fnmatchcase(likely, one.partition(";")[0].strip().lower()) for one in named):
        return likely
    return next((one for one in named if "*" not in one), "") or likely


def quote_name(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A").encode("utf-8", "replace").decode()


def safe_type(content_type: str, name: str) -> str:
    if not content_type.isascii() or not content_type.isprintable():
        raise refusal_of("`contentType` can only contain plain characters", f"/{name}/contentType")
    return content_type
