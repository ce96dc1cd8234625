"""What a server asks during a call, answered in the terminal: a form field by field, or a page in the browser."""

from __future__ import annotations

import json
from typing import Any, Literal

from executor.errors import InvalidRequest
from executor.surfaces.cli.browser import open_page
from executor.surfaces.cli.client import Client, segment
from executor.surfaces.cli.output import clean, program, say
from executor.surfaces.cli.prompts.terminal_line import choose, read_line

Action = Literal["accept", "decline", "cancel"]
KIND = "elicitation"
YES, NO = ("true", "yes", "y", "1"), ("false", "no", "n", "0")


def send(client: Client, interaction_id: str, action: Action, content: dict[str, Any] | None = None) -> dict[str, Any]:
    body: dict[str, Any] = {"action": action} | ({"content": content} if content is not None else {})
    settled: dict[str, Any] = client.post(f"/v1/interactions/{segment(interaction_id)}/answer", body)
    return settled


def ways_to_answer(interaction: dict[str, Any]) -> list[str]:
    """Commands to be pasted, and the page."""
    command = f"{program()} approvals answer {clean(interaction['id'])}"
    page = [f"or answer in the browser:\n  {clean(interaction['url'])}"] if interaction.get("url") else []
    return [f"to answer it:\n  {command}", f"to decline it:\n  {command} --decline", *page]


def answer_here(client: Client, interaction: dict[str, Any], *, may_open: bool = False) -> bool:
    """False if it was left for later. The prompt has been shown already."""
    asked = interaction["elicitation"]
    if asked["mode"] == "url":
        say("open the page only if you trust its host, and finish there what it asks for")
        if may_open and choose("[o]pen it in the browser, or [l]eave it closed?", ("open",)) == "open":
            open_page(client.settings, "elicitation.html", asked["url"])
    action = choose("[a]ccept, [d]ecline, [c]ancel or [l]eave it for later?", ("accept", "decline", "cancel"))
    if action == "leave":
        return False
    content = enter_form(asked["fields"]) if action == "accept" and asked["mode"] == "form" else None
    send(client, interaction["id"], "accept" if action == "accept" else "decline" if action == "decline" else "cancel",
         content)  # fmt: skip
    return True


def enter_form(fields: list[dict[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for field in fields:
        value = enter_field(field)
        if value is not None:
            content[field["name"]] = value
    return content


def enter_field(field: dict[str, Any]) -> Any:
    """None if it is left out. What is not valid has to be entered again; the daemon checks the rest."""
    options = [option["value"] for option in field["options"]]
    known = f" [{', '.join(map(clean, options))}]" if options else ""
    several = ", separated by commas" if field["kind"] == "choices" else ""
    default = f" (Enter for {clean(json.dumps(field['default']))})" if field["default"] is not None else ""
    optional = "" if field["required"] or default else " (Enter to leave it out)"
    while True:
        line = read_line(f"{clean(field['name'])}{known}{several}{default}{optional}: ")
        if line is None:
            raise InvalidRequest("the input ended; nothing was answered", hint="answer again")
        text = line.rstrip("\r\n")
        if not text and not field["required"]:
            return field["default"]
        if not text and field["default"] is not None:
            return field["default"]
        try:
            return value_of(field, text)
        except InvalidRequest as error:
            say(clean(error.message))


def value_of(field: dict[str, Any], text: str) -> Any:
    """What is typed, as the field's kind of value."""
    kind = field["kind"]
    if kind == "choices":
        return [one.strip() for one in text.split(",") if one.strip()]
    if kind == "boolean":
        if text.lower() in (*YES, *NO):
            return text.lower() in YES
        raise InvalidRequest(f"{field['name']} is yes or no", hint="enter true or false")
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError as error:
            raise InvalidRequest(f"{field['name']} is {kind_name(kind)}", hint="enter digits") from error
    return text


def kind_name(kind: str) -> str:
    return "a whole number" if kind == "integer" else "a number"


def read_content(interaction: dict[str, Any], pairs: tuple[str, ...], content: str | None) -> dict[str, Any]:
    """From options of the command: one JSON object, and `name=value` for single fields."""
    fields = {field["name"]: field for field in interaction["elicitation"]["fields"]}
    try:
        given = json.loads(content) if content is not None else {}
    except ValueError as error:
        raise InvalidRequest(f"--content is not JSON: {error}", hint="quote it: --content '{\"name\": 1}'") from error
    if not isinstance(given, dict):
        raise InvalidRequest("--content is not a JSON object", hint="quote it: --content '{\"name\": 1}'")
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or name not in fields:
            known = ", ".join(fields) or "none"
            raise InvalidRequest(f"--set {pair!r} names no field", hint=f"use NAME=VALUE; the fields are: {known}")
        given[name] = value_of(fields[name], value)
    return given
