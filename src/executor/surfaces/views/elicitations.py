"""What servers ask of people during calls: a form or a page. Its words are strangers' words."""

from __future__ import annotations

from typing import Any, NotRequired
from urllib.parse import urlsplit

from typing_extensions import TypedDict

from executor.schemas.form import Field, FieldKind, read_form
from executor.surfaces.escape import escape

WARNING = "looks like a secret: don't enter one, the server must ask for it on a page of its own"


LIMITS = {
    "minLength": "length at least",
    "maxLength": "length at most",
    "minimum": "at least",
    "maximum": "at most",
    "minItems": "choose at least",
    "maxItems": "choose at most",
}


class OptionView(TypedDict):
    value: str
    title: str


class FieldView(TypedDict):
    """`limits` are keywords of JSON Schema: `minLength`, `maximum`, `minItems` and the like."""

    name: str
    kind: FieldKind
    title: str
    description: str
    required: bool
    format: str
    options: list[OptionView]
    limits: dict[str, float]
    default: Any
    looksSecret: bool


class ElicitationView(TypedDict):
    """A form has a `schema`, and its `fields` say the same in the order in which they are shown. A page has a `url`."""

    mode: str
    message: str
    fields: list[FieldView]
    schema: NotRequired[dict[str, Any] | None]
    url: NotRequired[str | None]
    host: NotRequired[str | None]


def elicitation_view(asked: dict[str, Any] | None) -> ElicitationView | None:
    if not asked:
        return None
    url, schema = asked.get("url"), asked.get("schema")
    return {
        "mode": asked["mode"],
        "message": asked["message"],
        "fields": [field_view(one) for one in read_form(schema)] if schema is not None else [],
        "schema": schema,
        "url": url,
        "host": urlsplit(url).netloc if url else None,
    }


def field_view(one: Field) -> FieldView:
    return {
        "name": one.name,
        "kind": one.kind,
        "title": one.title,
        "description": one.description,
        "required": one.required,
        "format": one.format,
        "options": [{"value": option.value, "title": option.title} for option in one.options],
        "limits": dict(one.limits),
        "default": one.default,
        "looksSecret": one.looks_secret,
    }


def elicitation_lines(asked: dict[str, Any] | None) -> list[str]:
    """For people in a terminal: each line of the server's begins with a bar, so that none can pass for one of ours."""
    view = elicitation_view(asked)
    if view is None:
        return []
    said = [f"  | {line}" for line in escape(view["message"], keep="\n").split("\n")]
    url, host = view.get("url"), view.get("host") or ""
    page = [f"{'Page:':<12}{escape(url)}", f"{'Its host:':<12}{escape(host)}"] if url else []
    fields = ["Fields:", *(f"  | {field_text(one)}" for one in view["fields"])] if view["fields"] else []
    return ["The server says, in its own words:", *said, *page, *fields]


def option_text(option: OptionView) -> str:
    """What to enter, and what it means."""
    return option["value"] if option["title"] in ("", option["value"]) else f"{option['value']} ({option['title']})"


def field_text(one: FieldView) -> str:
    """One line: its name, what it takes, and what the server says about it."""
    needed = "required" if one["required"] else "optional"
    options = " of " + ", ".join(map(option_text, one["options"])) if one["options"] else ""
    limits = "".join(f", {LIMITS[name]} {value:g}" for name, value in one["limits"].items())
    shape = f", {one['format']}" if one["format"] else ""
    default = f", default {one['default']!r}" if one["default"] is not None else ""
    words = ": ".join(text for text in (one["title"], one["description"]) if text)
    text = f"{one['name']} ({one['kind']}{options}{shape}{limits}, {needed}{default}){': ' + words if words else ''}"
    return escape(text) + (f" [{WARNING}]" if one["looksSecret"] else "")
