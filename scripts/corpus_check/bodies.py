"""Whether a body arrived as the document and the call say."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from .arrived import Arrived, pairs_of
from .calls import FORM, LINES, Call, essence
from .styles import query_fits, said, same, same_json


def body_problems(call: Call, arrived: Arrived) -> list[str]:
    if not call.has_body or (essence(call.media_type) == FORM and call.body == {}):
        if not arrived.body and "content-type" in arrived.headers:
            return ["a request without a body has a content type"]
        return ["a body arrived that was not given"] if arrived.body else []
    told = arrived.headers.get("content-type", "")
    if not any(in_range(essence(told), essence(one)) for one in call.media_types):
        return [f"the body is {told}, the document wants {call.media_types[:3]}"]
    form = essence(told)
    if form == FORM and not isinstance(call.body, str):
        return form_problems(call, arrived.body)
    if form.startswith("multipart/"):
        return part_problems(call, arrived.body, told)
    if isinstance(call.body, str) and "json" not in form:
        return [] if arrived.body.decode() == call.body else ["the text of the body differs"]
    if isinstance(call.body, dict) and "base64" in call.body and "json" not in form:
        return [] if arrived.body == base64.b64decode(call.body["base64"]) else ["the bytes of the body differ"]
    if isinstance(call.body, list) and LINES.search(form):
        return [] if [json.loads(one) for one in arrived.body.splitlines()] == call.body else ["the lines differ"]
    return [] if same_json(arrived.body.decode(), call.body) else [f"the JSON body is {arrived.body[:100]!r}"]


def in_range(told: str, wanted: str) -> bool:
    """`image/*` is any image; what is no media type at all asks for nothing."""
    if "/" not in wanted or wanted.startswith("*"):
        return True
    return told == wanted or (wanted.endswith("/*") and told.startswith(wanted[:-1]))


def form_problems(call: Call, body: bytes) -> list[str]:
    pairs, used, found = pairs_of(body.decode()), set(), []
    for name, place in call.fields.items():
        if place.value is not None and not query_fits(place, pairs, used):
            found.append(f"the form field {name} ({place.style}) did not arrive as {place.value!r}"[:300])
    extra = {name for name, _ in pairs} - used
    return [*found, f"the form has {sorted(extra)[:5]} besides"] if extra else found


def part_problems(call: Call, body: bytes, told: str) -> list[str]:
    parts = parts_of(body, told)
    if parts is None:
        return ["the multipart body has no proper boundaries"]
    found = []
    for name, place in call.fields.items():
        mine = [(head, data) for head, data in parts if head.get("name") == name.replace('"', "%22")]
        joined = (
            isinstance(place.value, list)
            and not place.explode
            and not any(isinstance(one, dict) for one in place.value)
        )
        separator = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}.get(place.style, ",")
        values = (
            [separator.join(map(said, place.value))]
            if joined
            else place.value
            if isinstance(place.value, list)
            else [place.value]
        )
        if isinstance(place.value, list) and place.content == "json":
            values = [place.value]
        values = [one for one in values if one is not None]
        if len(mine) != len(values) or not all(
            part_fits(*one, value) for one, value in zip(mine, values, strict=False)
        ):
            found.append(f"the part {name} did not arrive as {place.value!r}"[:300])
    extra = {head.get("name") for head, _ in parts} - {name.replace('"', "%22") for name in call.fields}
    return [*found, f"there are parts {sorted(map(str, extra))[:5]} besides"] if extra else found


def part_fits(head: dict[str, str], data: bytes, value: Any) -> bool:
    if isinstance(value, dict) and set(value) == {"base64", "filename", "contentType"}:
        is_named = head.get("filename") == "a%22é.bin" and head.get("content-type") == "image/png"
        return is_named and data == base64.b64decode(value["base64"])
    return same(data.decode(), value)


def parts_of(body: bytes, told: str) -> list[tuple[dict[str, str], bytes]] | None:
    match = re.search(r"boundary=\"?([^\";]+)", told)
    pieces = body.split(b"--" + match[1].encode()) if match else []
    if len(pieces) < 2 or pieces[0] or pieces[-1] != b"--\r\n":
        return None
    found = []
    for piece in pieces[1:-1]:
        if not piece.startswith(b"\r\n") or not piece.endswith(b"\r\n"):
            return None
        raw, _, data = piece[2:-2].partition(b"\r\n\r\n")
        head = {}
        for line in raw.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            head[name.lower()] = value
        head |= dict(re.findall(r'; (\w+)="([^"]*)"', head.get("content-disposition", "")))
        found.append((head, data))
    return found
