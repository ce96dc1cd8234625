"""Values that are typed or piped in. They are never arguments: those are seen by everyone on the machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from executor.errors import InvalidRequest
from executor.surfaces.cli.output import clean, interactive, say

Input = dict[str, Any]


def enter_secret(label: str, *, hidden: bool = True, optional: bool = False) -> str:
    """At a hidden prompt; without a terminal one line of standard input. What is `optional` may be left empty."""
    if interactive():
        default = "" if optional else None
        return str(click.prompt(clean(label), default, hide_input=hidden, show_default=False, err=True))
    return lines([label])[0]


def whole_input(label: str) -> str:
    """A secret may have several lines; only the line break at its end is not part of it."""
    if interactive():
        return str(click.prompt(clean(label), hide_input=True, err=True))
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


def inputs(wanted: Sequence[Input]) -> dict[str, str]:
    """Each at its own prompt, or each on its own line of standard input, in this order."""
    if interactive():
        return {one["name"]: enter_secret(one["label"], hidden=one.get("secret", True)) for one in wanted}
    found = lines([one["label"] for one in wanted])
    return {one["name"]: value for one, value in zip(wanted, found, strict=True)}


def inputs_or_none(wanted: Sequence[Input], otherwise: str = "Enter for other choices") -> dict[str, str] | None:
    """Each at its own prompt. None if nothing is typed at the first, or if the input ends."""
    first, *rest = wanted
    how = f"hidden; {otherwise}" if first.get("secret", True) else otherwise
    try:
        value = enter_secret(f"{first['label']} ({how})", hidden=first.get("secret", True), optional=True)
        return {first["name"]: value, **inputs(rest)} if value else None
    except click.Abort:
        return None


def lines(labels: Sequence[str]) -> list[str]:
    found = [sys.stdin.readline().rstrip("\r\n") for _ in labels]
    for label, value in zip(labels, found, strict=True):
        if not value:
            order = f"pass {', '.join(labels)}, each on a line of its own, in this order"
            raise InvalidRequest(
                f"no {label} on standard input", hint="pass it on one line" if len(labels) == 1 else order
            )
    return found


def choose_way(ways: Sequence[dict[str, Any]], name: str | None) -> dict[str, Any]:
    """The one that was named, or the first that can be typed in."""
    typed = [way for way in ways if way.get("oauth") is None]
    found = next((way for way in typed if name in (None, way["name"])), None)
    if found is None:
        known = ", ".join(clean(way["name"]) for way in typed)
        hint = f"choose one with --way: {known}" if known else "say where it goes: --bearer, --basic, --header NAME …"
        raise InvalidRequest(
            "the source does not accept that" if name else "the source does not say which credential it accepts",
            hint=hint,
        )
    if len(typed) > 1 and name is None:
        say(f"it accepts {', '.join(clean(way['name']) for way in typed)}; this is {clean(found['name'])}")
    return found


def explain_way(way: dict[str, Any], sent_to: str) -> None:
    described = f": {way['description']}" if way.get("description") else ""
    say(f"{clean(way['name'])} ({clean(way['scheme'])}){clean(described)}")
    say(f"it will be sent to {clean(sent_to)} and nowhere else")
