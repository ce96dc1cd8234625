"""A call of an operation, as the document itself describes it: what is given, and what has to arrive."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from typing import Any

from .documents import Document
from .values import INVENTED, Maker

# The standard leaves the first three to the client; the others every client sends by itself.
STANDARD = frozenset(
    {"accept", "content-type", "authorization", "user-agent", "host", "content-length", "connection", "accept-encoding"}
)
FORM = "application/x-www-form-urlencoded"
LINES = re.compile(r"ndjson|jsonl|json-lines|json-seq|stream\+json|json-stream")
DELIMITERS = {"ssv": "spaceDelimited", "pipes": "pipeDelimited", "tsv": "tabDelimited"}


class Impossible(Exception):
    """No call can be made, and this is why."""


@dataclass
class Place:
    name: str
    place: str
    style: str
    explode: bool
    content: str
    value: Any
    reserved: bool = False


@dataclass
class Call:
    method: str
    template: str
    arguments: dict[str, Any] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)
    has_body: bool = False
    media_type: str = ""
    media_types: list[str] = field(default_factory=list)
    body: Any = None
    fields: dict[str, Place] = field(default_factory=dict)


def parameters(
    document: Document, item: dict[str, Any], operation: dict[str, Any]
) -> dict[tuple[str, str], dict[str, Any]]:
    found = {}
    for group in (item.get("parameters"), operation.get("parameters")):
        for raw in group if isinstance(group, list) else ():
            one = document.follow(raw)
            if isinstance(one, dict) and "name" in one:
                place, name = str(one.get("in")), str(one["name"])
                if place == "header":
                    name = next((known for at, known in found if at == place and known.lower() == name.lower()), name)
                    found.pop((place, name), None)
                found[(place, str(one["name"]))] = one
    return found


def make(
    document: Document, method: str, path: str, operation: dict[str, Any], item: dict[str, Any], tool: Any, maker: Maker
) -> Call:
    call = Call(method, path)
    raw = parameters(document, item, operation)
    bound = {(one["in"], one["name"].strip("+*")): one["argument"] for one in tool.binding["parameters"]}
    for (place, name), one in raw.items():
        if place in ("body", "formData"):
            continue
        argument = bound.get((place, name))
        if argument is None and place == "query" and f"={{{name}}}" in path.partition("?")[2]:
            argument = bound.pop(("path", name), None)  # the path itself says where in the query it belongs
        if argument is None:
            if (place, name) in credentials(tool):
                continue
            if one.get("required") is True and place == "header" and name.lower() not in STANDARD:
                raise Impossible(f"the required header {name} is left to the client")
            continue
        if one.get("required") is True or place == "path" or maker.full:
            add(document, call, maker, one, place, name, argument)
    for place, name in set(bound) - set(raw):
        if (place, name) == ("header", "Last-Event-ID") and "text/event-stream" in json.dumps(operation["responses"]):
            continue  # of all streams of events, by their own standard
        if place != "path":
            raise Impossible(f"the tool has the {place} parameter {name}, the document does not")
        call.arguments[bound[(place, name)]] = "undeclared"
        call.places.append(Place(name, place, "simple", False, "", "undeclared"))
    bodies = swagger_bodies(document, operation, raw) if document.is_swagger else content(document, operation)
    if bodies is not None and tool.binding["body"] is not None:
        add_body(document, call, maker, tool, bodies)
    elif bodies and bodies[1] and bodies[0]:
        raise Impossible("the tool has no body, the document requires one")
    return call


def credentials(tool: Any) -> set[tuple[str, str]]:
    """What a connection fills, and no call may give."""
    return {(one["in"], one["name"]) for one in tool.binding.get("credentials", ())}


def add(
    document: Document, call: Call, maker: Maker, raw: dict[str, Any], place: str, name: str, argument: str
) -> None:
    media = raw.get("content")
    media_type, schema = "", raw.get("schema", {})
    if isinstance(media, dict) and media:
        media_type, one = next(iter(media.items()))
        schema = one.get("schema", {}) if isinstance(one, dict) else {}
    if document.is_swagger:
        schema = (
            raw["schema"]
            if isinstance(raw.get("schema"), dict)
            else {key: part for key, part in raw.items() if key not in ("name", "in", "required", "description")}
        )
        style = DELIMITERS.get(raw.get("collectionFormat", ""), "form" if place == "query" else "simple")
        explode = raw.get("collectionFormat") == "multi"
    else:
        style = raw.get("style") or {"query": "form", "cookie": "form"}.get(place, "simple")
        if style not in STYLES.get(place, ()):
            style = {"query": "form", "cookie": "form"}.get(place, "simple")
        explode = raw["explode"] if isinstance(raw.get("explode"), bool) else style in ("form", "deepObject")
    if place == "path":
        schema = filling(document.follow(schema))
    value = maker.value(schema)
    if place == "path" and value in ("", None, [], {}):
        value = {INVENTED: "text"} if value == {} else ["text"] if value == [] else "text"
    if place == "path" and value in (".", ".."):
        raise Impossible("the only value of a path parameter would change the path")
    if value is None:
        return
    if isinstance(value, dict) and explode and any(INVENTED in keys_of(one) for one in call.places):
        value = {f"{name}-{key}" if key == INVENTED else key: part for key, part in value.items()}
    call.arguments[argument] = value
    call.places.append(Place(name, place, style, explode, media_type, value, raw.get("allowReserved") is True))


def keys_of(place: Place) -> set[str]:
    """What an object takes of the names of a query."""
    return set(place.value) if isinstance(place.value, dict) and place.explode else {place.name}


def filling(schema: Any) -> Any:
    """Without the empty values that a path has no room for."""
    if not isinstance(schema, dict):
        return schema
    enum = schema.get("enum")
    enum = {"enum": [one for one in enum if one != ""] or enum} if isinstance(enum, list) else {}
    return {"minLength": 1, **schema, **enum}


STYLES = {
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "path": ("simple", "label", "matrix"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
Bodies = tuple[dict[str, dict[str, Any]], bool]


def content(document: Document, operation: dict[str, Any]) -> Bodies | None:
    body = document.follow(operation.get("requestBody"))
    found = body.get("content") if isinstance(body, dict) else None
    if not isinstance(found, dict) or not found:
        return None
    return {key: one if isinstance(one, dict) else {} for key, one in found.items()}, body.get("required") is True


def swagger_bodies(document: Document, operation: dict[str, Any], raw: dict[tuple[str, str], Any]) -> Bodies | None:
    consumes = operation.get("consumes", document.root.get("consumes")) or []
    whole = next((one for (place, _), one in raw.items() if place == "body"), None)
    if whole is not None:
        types = [one for one in consumes if one != FORM and not one.startswith("multipart/")] or ["application/json"]
        schema = whole.get("schema")
        if not isinstance(schema, dict):  # some write the type beside the place
            schema = {key: part for key, part in whole.items() if key not in ("name", "in", "required", "description")}
        return {one: {"schema": schema} for one in types}, whole.get("required") is True
    fields = [one for (place, _), one in raw.items() if place == "formData"]
    if not fields:
        return None
    encoding = {
        one["name"]: {"style": DELIMITERS.get(one.get("collectionFormat", ""), "form"), "explode": False}
        for one in fields
        if one.get("type") == "array" and one.get("collectionFormat") != "multi"
    }
    own = ("name", "in", "required", "description")
    properties = {one["name"]: {key: part for key, part in one.items() if key not in own} for one in fields}
    required = [one["name"] for one in fields if one.get("required") is True]
    media = {"schema": {"type": "object", "properties": properties, "required": required}, "encoding": encoding}
    types = [one for one in consumes if one == FORM or one.startswith("multipart/")] or [FORM, "multipart/form-data"]
    if any(one.get("type") == "file" for one in fields):
        types = ["multipart/form-data"]
    return dict.fromkeys(types, media), bool(required)


def add_body(document: Document, call: Call, maker: Maker, tool: Any, bodies: Bodies) -> None:
    found, required = bodies
    if not required and not maker.full:
        return
    sent = tool.binding["body"]["mediaType"]
    call.media_types = list(found)
    key = next((one for one in found if same_type(one, sent)), None) or next(
        (one for one in found if "*" in one or "/" not in one), None
    )
    if key is None:
        raise Impossible(f"the tool sends {sent}, the document wants {', '.join(found)}"[:200])
    call.media_type, call.has_body = sent, True
    media = document.follow(found[key]) or {}
    schema, form = media.get("schema", {}), essence(sent)
    if form == FORM and isinstance(schema, dict) and schema.get("type") == "string":
        call.body = "a=1&b=2"
    elif form == FORM or form.startswith("multipart/"):
        add_fields(document, call, maker, media)
    elif "json" in form and not LINES.search(form):
        call.body = maker.value(schema)
    elif form.startswith("text/") or "xml" in form:
        call.body = "<a>é</a>"
    elif tool.binding["body"]["form"] == "text":
        call.body = "text é"
    elif "json" in form:
        call.body = [{"a": 1}, {"b": "é"}]
    else:
        call.body = {"base64": base64.b64encode(b"\x00\xff\r\n--").decode(), "contentType": "image/png"}
    put_body(call, tool)


def add_fields(document: Document, call: Call, maker: Maker, media: dict[str, Any]) -> None:
    whole = maker.whole(media.get("schema", {}))
    made = maker.value(media.get("schema", {}))
    if isinstance(made, list):
        raise Impossible("the document makes a form of a list, which has no names")
    made = made if isinstance(made, dict) else {}
    properties = (
        whole.get("properties") if isinstance(whole, dict) and isinstance(whole.get("properties"), dict) else {}
    )
    encoding = media.get("encoding") if isinstance(media.get("encoding"), dict) else {}
    for name, value in list(made.items()):
        told = encoding.get(name) if isinstance(encoding.get(name), dict) else {}
        style = told.get("style") or "form"
        explode = told["explode"] if isinstance(told.get("explode"), bool) else style in ("form", "deepObject")
        content = "" if "style" in told or "explode" in told else "json" if isinstance(value, dict) else ""
        if "json" in str(told.get("contentType", "")):
            content = "json"
        if essence(call.media_type) != FORM and is_file(document, maker, properties.get(name), told):
            raw = base64.b64encode(b"\x00\xff\r\n" + name.encode()).decode()
            file = {"base64": raw, "filename": 'a"é.bin', "contentType": "image/png"}
            value = made[name] = [file] if isinstance(value, list) else file
        call.fields[name] = Place(name, "form", style, explode, content, value)
    call.body = made


def is_file(document: Document, maker: Maker, schema: Any, encoding: dict[str, Any]) -> bool:
    whole = maker.whole(schema)
    if isinstance(whole, dict) and whole.get("type") == "array":
        whole = maker.whole(whole.get("items"))
    if not isinstance(whole, dict):
        return False
    return whole.get("type") == "file" or whole.get("format") == "binary"


def put_body(call: Call, tool: Any) -> None:
    """Fields stand beside the parameters where they may, as an agent would write them."""
    for place, name in credentials(tool):
        if place == "form" and isinstance(call.body, dict):
            call.body.pop(name, None)
            call.fields.pop(name, None)
    taken = {one["argument"] for one in tool.binding["parameters"]}
    known = set(tool.input_schema["properties"])
    is_flat = tool.binding["body"]["object"] and isinstance(call.body, dict) and call.body
    if is_flat and not set(call.body) & (taken | {tool.body_argument}) and set(call.body) <= known:
        call.arguments |= call.body
    else:
        call.arguments[tool.body_argument] = call.body


def essence(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def same_type(first: str, second: str) -> bool:
    return first == second or essence(first) == essence(second)
