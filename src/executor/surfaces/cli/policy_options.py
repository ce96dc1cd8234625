"""Policies as they are written on a command line: a pattern, an action, and what else must hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from executor.errors import InvalidRequest
from executor.surfaces.cli.output import clean, table

ACTIONS = ("allow", "require_approval", "deny")
EFFECTS = ("read", "write", "destructive")
TESTS = {"=": "equals", "<=": "at_most", ">=": "at_least", "~": "matches", "in": "one_of"}
AGENTS = "agent."  # what coding agents ask for in sessions: no source has these tools
_WHEN = re.compile(r"(?P<path>(?:/(?:[^\s=<>~]|~[01])*)?)\s*(?P<sign><=|>=|=|~|\bin\b)\s*(?P<value>.*)", re.DOTALL)
Command = TypeVar("Command", bound=Callable[..., Any])


def policy_options(command: Command) -> Command:
    """The options of everything that takes a policy."""
    for option in (
        click.option("--note", default="", help="Reason for the policy, for people."),
        click.option(
            "--level", type=click.Choice(("workspace", "organization")), help="Level of the policy. Default: workspace."
        ),
        click.option("--effect", type=click.Choice(EFFECTS), help="Only tools with this effect."),
        click.option("--source", default="", metavar="NAMESPACE", help="Only tools of this source."),
        click.option("--actor", default="", metavar="NAME", help="Only calls of this actor, by name or ID."),
        click.option(
            "--when",
            multiple=True,
            metavar="CONDITION",
            help="Condition on an argument: '/owner=acme', '/amount<=100', '/ref~main|dev', '/state in a,b'. "
            "Repeatable.",
        ),
    ):
        command = option(command)
    return command


def policy_body(pattern: str, action: str, when: Sequence[str], **more: Any) -> dict[str, Any]:
    given = {name: value for name, value in more.items() if value not in (None, "")}
    return {"pattern": pattern, "action": action, "conditions": [condition(one) for one in when], **given}


def condition(text: str) -> dict[str, Any]:
    """A value that is JSON is taken as that, anything else as text: `/n=5` is a number, `/n="5"` is not."""
    found = _WHEN.fullmatch(text.strip())
    if found is None:
        why = (
            "an argument's path begins with /" if not text.strip().startswith("/") else "=, <=, >=, ~ or in is missing"
        )
        raise InvalidRequest(f"--when {text!r} is not valid: {why}", hint="for example: --when '/owner=acme'")
    test, value = TESTS[found["sign"]], found["value"].strip()
    if test == "matches":
        return {"path": found["path"], "test": test, "value": value}
    if test == "one_of" and not value.startswith("["):
        return {"path": found["path"], "test": test, "value": [_value(one.strip()) for one in value.split(",")]}
    return {"path": found["path"], "test": test, "value": _value(value)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def policy_table(policies: Sequence[dict[str, Any]]) -> str:
    """`TOOLS` is how many tools there are now that it is about, or which policy above it leaves nothing to it."""
    rows = [{**policy, "rule": policy["text"], "tools": reach(policy)} for policy in policies]
    return table(rows, {"level": "LEVEL", "position": "POSITION", "id": "ID", "tools": "TOOLS", "rule": "RULE"})


def reach(policy: dict[str, Any]) -> str:
    if policy["pattern"].startswith(AGENTS) and not policy.get("matches"):
        return "coding agents"
    if policy.get("retiredAt"):
        return "retired: its source was removed"
    if excluded := policy.get("excludedNames"):
        return f"{policy.get('matches', '')}, not {', '.join(excluded)}"
    return f"none: {policy['shadowedBy']} comes first" if policy.get("shadowedBy") else str(policy.get("matches", ""))


def describe_matches(matches: dict[str, Any], pattern: str = "") -> str:
    """How many tools there are that a policy is about, and the first of them."""
    if pattern.startswith(AGENTS):
        return "it applies to coding agents in sessions"
    count, tools = matches["count"], [clean(path) for path in matches["tools"]]
    if not count:
        return "it matches no current tool"
    shown = ", ".join(tools[:5]) + (" …" if count > 5 else "")
    return f"it matches {count} {'tool' if count == 1 else 'tools'}: {shown}"


def parse_option(option: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"{option} is not JSON: {error}", hint=f"quote it: {option} '{{}}'") from error
