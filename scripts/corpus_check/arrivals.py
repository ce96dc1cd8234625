"""What arrived, decoded by the rules of the standard and compared with what the call was to say."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from .calls import FORM, Call, Place, essence

SPLITS = {"spaceDelimited": ("%20", "+"), "pipeDelimited": ("%7C", "|"), "tabDelimited": ("%09",)}


@dataclass
class Arrived:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


def problems(call: Call, arrived: Arrived, base: str) -> list[str]:
    found = []
    if arrived.method != call.method:
        found.append(f"the method is {arrived.method}")
    path, _, query = arrived.target.partition("?")
    found += path_problems(call, path.removeprefix(base))
    found += query_problems(call, query)
    for place in call.places:
        if place.place == "header" and not header_fits(place, arrived.headers.get(place.name.lower())):
            found.append(f"the header {place.name} is {arrived.headers.get(place.name.lower())!r}")
        if place.place == "cookie" and not cookie_fits(place, arrived.headers.get("cookie", "")):
            found.append(f"the cookie {place.name} is not as told")
    return found + body_problems(call, arrived)


def said(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value)


def same(arrived: str, value: Any) -> bool:
    if isinstance(value, str):
        return arrived == value
    if isinstance(value, bool):
        return arrived == said(value)
    try:
        return bool(json.loads(arrived) == value)
    except ValueError:
        return False


def path_problems(call: Call, path: str) -> list[str]:
    template = call.template.partition("#")[0].partition("?")[0]
    template = template if template.startswith("/") else f"/{template}"
    parts = re.split(r"\{([^{}/]+)\}", template)
    pattern = "".join(
        "([^/?#]+)" if index % 2 else "".join(f"(?:{re.escape(c)}|{encoded(c)})" for c in part)
        for index, part in enumerate(parts)
    )
    match = re.fullmatch(pattern, path)
    if match is None:
        return [f"the path {path[:200]} is not the document's {template[:200]}"]
    places = {one.name: one for one in call.places if one.place == "path"}
    arrived = dict(zip((name.strip("+*") for name in parts[1::2]), match.groups(), strict=True))
    if any(not part for part in parts[2:-1:2]):  # side by side: where one ends and the next begins can't be seen
        whole = "".join(said(places[name].value) for name in arrived if name in places)
        return [] if unquote("".join(arrived.values())) == whole else ["the path parameters did not arrive as told"]
    return [
        f"the path parameter {name} arrived as {arrived[name]!r}"
        for name, place in places.items()
        if name in arrived and not path_fits(place, arrived[name])
    ]


def encoded(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def path_fits(place: Place, raw: str) -> bool:
    if place.content:
        return same(unquote(raw), place.value)
    if place.style == "label":
        if not raw.startswith("."):
            return False
        return listed_fits(place, re.split(r"\.", raw[1:]) if place.explode else raw[1:].split(","))
    if place.style == "matrix":
        pairs = [one.partition("=") for one in raw.split(";")[1:]]
        if place.explode and isinstance(place.value, dict):
            return {unquote(a): unquote(b) for a, _, b in pairs} == {key: said(one) for key, one in place.value.items()}
        if any(unquote(a) != place.name for a, _, _ in pairs):
            return False
        return listed_fits(place, [b for _, _, b in pairs] if place.explode else pairs[0][2].split(","))
    separators = SPLITS.get(place.style, (",",))
    return listed_fits(place, re.split("|".join(map(re.escape, separators)), raw))


def listed_fits(place: Place, pieces: list[str]) -> bool:
    """Pieces as they stand between separators, still encoded."""
    texts = [unquote(one) for one in pieces]
    value = place.value
    if isinstance(value, list):
        return len(texts) == len(value) and all(same(one, part) for one, part in zip(texts, value, strict=True))
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if part is not None}
        if place.explode:
            pairs = dict(one.partition("=")[::2] for one in pieces)
            return {unquote(key) for key in pairs} == set(kept) and all(
                same(unquote(b), kept[unquote(a)]) for a, b in pairs.items()
            )
        keys, parts = texts[::2], texts[1::2]
        return keys == list(kept) and all(same(one, part) for one, part in zip(parts, kept.values(), strict=True))
    return len(texts) == 1 and same(texts[0], value)


def pairs_of(query: str) -> list[tuple[str, str]]:
    return [(unquote(one.partition("=")[0]), one.partition("=")[2]) for one in query.split("&") if one]


def query_problems(call: Call, query: str) -> list[str]:
    pairs = pairs_of(query)
    fixed = pairs_of(call.template.partition("#")[0].partition("?")[2])
    used = {name for name, _ in fixed}
    found = []
    for place in call.places:
        if place.place == "query" and not query_fits(place, pairs, used):
            found.append(f"the query parameter {place.name} ({place.style}) did not arrive as {place.value!r}"[:300])
    extra = {name for name, _ in pairs} - used
    return [*found, f"the query has {sorted(extra)[:5]} besides"] if extra else found


def query_fits(place: Place, pairs: list[tuple[str, str]], used: set[str]) -> bool:
    """Of a query or a form body: values still encoded."""
    value = place.value
    mine = [raw for name, raw in pairs if name == place.name]
    if isinstance(value, dict | list) and place.style == "deepObject" and not place.content:
        inner = [(name, raw) for name, raw in pairs if name.startswith(f"{place.name}[")]
        used.update(name for name, _ in inner)
        arrived = nested([(name[len(place.name) :], unquote(raw)) for name, raw in inner])
        return arrived == bare(value) or not (arrived or bare(value))
    if isinstance(value, dict) and place.explode and not place.content:
        used.update(value)
        kept = {key: one for key, one in value.items() if one is not None}
        return all(any(name == key and same(unquote(raw), one) for name, raw in pairs) for key, one in kept.items())
    used.add(place.name)
    if place.content and "text/" not in place.content:
        return len(mine) == 1 and same_json(unquote(mine[0]), value)
    if isinstance(value, list) and place.explode:
        return len(mine) == len(value) and all(same(unquote(a), b) for a, b in zip(mine, value, strict=True))
    if isinstance(value, list) and not value:
        return not mine or mine == [""]
    if len(mine) != 1:
        return False
    if not isinstance(value, list | dict):
        return same(unquote(mine[0]), value)
    separators = SPLITS.get(place.style, (",",))
    return listed_fits(place, re.split("|".join(map(re.escape, separators)), mine[0]))


def same_json(text: str, value: Any) -> bool:
    try:
        return bool(json.loads(text) == value)
    except ValueError:
        return False


def bare(value: Any) -> Any:
    """As brackets can tell it: text only, nothing empty."""
    if isinstance(value, dict):
        found = {key: bare(one) for key, one in value.items() if one is not None}
        return {key: one for key, one in found.items() if one not in ({}, [])}
    if not isinstance(value, list):
        return said(value)
    return [one for one in map(bare, value) if one not in ({}, [])]


def nested(pairs: list[tuple[str, str]]) -> Any:
    root: dict[str, Any] = {}
    for name, text in pairs:
        keys = re.findall(r"\[([^\]]*)\]", name)
        node = root
        for key in keys[:-1]:
            node = node.setdefault(key, {})
        last = keys[-1]
        if last == "":
            node.setdefault("", []).append(text)
        else:
            node[last] = text
    return lists(root)


def lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if set(node) == {""}:
        return node[""]
    made = {key: lists(one) for key, one in node.items()}
    if made and all(key.isdecimal() for key in made) and sorted(map(int, made)) == list(range(len(made))):
        return [made[str(index)] for index in range(len(made))]
    return made


def header_fits(place: Place, arrived: str | None) -> bool:
    if arrived is None:
        return place.value == []
    text = arrived.encode("latin-1").decode("utf-8", "replace")
    if place.content:
        return same_json(text, place.value)
    if isinstance(place.value, str):
        return text.strip() == place.value.strip()
    separators = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
    pieces = text.split(separators.get(place.style, ","))
    whole = Place(place.name, place.place, place.style, place.explode, "", place.value)
    return listed_fits(whole, [one.replace("%", "%25") for one in pieces]) or text == ",".join(map(said, place.value))


def cookie_fits(place: Place, header: str) -> bool:
    pairs = [(unquote(one.partition("=")[0]), one.partition("=")[2]) for one in header.split("; ")]
    return query_fits(place, pairs, set())


def body_problems(call: Call, arrived: Arrived) -> list[str]:
    if not call.has_body:
        return ["a body arrived that was not given"] if arrived.body else []
    told = arrived.headers.get("content-type", "")
    if not any(essence(told) == essence(one) or "*" in one or "/" not in one for one in call.media_types):
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
    if isinstance(call.body, list) and ("ndjson" in form or "lines" in form or "jsonl" in form or "seq" in form):
        return [] if [json.loads(one) for one in arrived.body.splitlines()] == call.body else ["the lines differ"]
    return [] if same_json(arrived.body.decode(), call.body) else [f"the JSON body is {arrived.body[:100]!r}"]


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
