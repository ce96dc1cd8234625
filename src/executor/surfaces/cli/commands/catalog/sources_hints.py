"""`executor sources hints`: what an MCP server says of its tools, and whether it is trusted."""

from __future__ import annotations

from typing import Any

import click

from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.output import clean, emit, emit_json, interactive, program, say

SHOWN = 10


@click.command("hints")
@click.argument("source", metavar="NAMESPACE")
@click.argument("decision", type=click.Choice(["trust", "ask"]), required=False)
@click.option("--tool", "tools", multiple=True, metavar="PATH", help="With `trust`: only this tool; repeatable.")
def hints(source: str, decision: str | None, tools: tuple[str, ...], as_json: bool) -> None:
    """Show which tools an MCP server marks as read-only. With DECISION, trust these hints or stop trusting them.

    Trust is a policy for the tools as they are now. If the server changes a tool or marks others, you decide again.
    """
    if tools and decision != "trust":
        raise click.UsageError("--tool is only for trust")
    client, path = connect(), f"/v1/sources/{segment(source)}/hints"
    found = client.get(path) if decision is None else _put_decision(client, source, decision, list(tools) or None)
    if as_json:
        emit_json(found)
        return
    for one in found["claimed"]:
        emit(f"{'trusted' if one in found['trusted'] else 'asked'}  {clean(one)}")
    say(describe_hints(source, found))


def show_or_decide(client: Client, source: dict[str, Any], *, is_decided: bool) -> None:
    """After a server was added: what it says, and in a terminal what you make of it. Whatever is unclear means ask."""
    found, namespace = source["hints"], source["namespace"]
    if not found["claimed"]:
        return
    if is_decided or not interactive():
        say(describe_hints(namespace, found))
        return
    names = ", ".join(clean(one) for one in found["claimed"][:SHOWN])
    more = f" and {len(found['claimed']) - SHOWN} more" if len(found["claimed"]) > SHOWN else ""
    say(f"the server says that these tools only read: {names}{more}")
    question = "trust it, require approval for each call (ask), or choose?"
    answer = click.prompt(question, type=click.Choice(["trust", "ask", "choose"]), default="ask", err=True)
    if answer == "ask":
        return
    wanted = None
    if answer == "choose":
        wanted = [one for one in found["claimed"] if click.confirm(f"trust {clean(one)}?", default=False, err=True)]
    say(describe_hints(namespace, _put_decision(client, namespace, "trust" if wanted != [] else "ask", wanted)))


def first_hints(client: Client, namespace: str, decision: str | None) -> dict[str, Any]:
    """Of a server whose tools could not be read when it was added."""
    if decision == "trust":
        return _put_decision(client, namespace, decision, None)
    return dict(client.get(f"/v1/sources/{segment(namespace)}/hints"))


def _put_decision(client: Client, source: str, decision: str, tools: list[str] | None) -> dict[str, Any]:
    body = {"decision": decision, **({"tools": tools} if tools else {})}
    return dict(client.request("PUT", f"/v1/sources/{segment(source)}/hints", body))


def describe_hints(namespace: str, found: dict[str, Any]) -> str:
    claimed, trusted = len(found["claimed"]), len(found["trusted"])
    if not claimed:
        return "the server marks none of its tools as read-only"
    if trusted == claimed:
        return f"{trusted} tools are trusted as reads; undo with {program()} policies remove {clean(found['policyId'])}"
    marks = f"the server marks {claimed} of its tools as read-only"
    rest = (
        f"{trusted} are trusted, the others need approval"
        if trusted
        else "none of them is trusted yet, so their calls need approval"
    )
    return f"{marks}; {rest}\nto trust it:\n  {program()} sources hints {clean(namespace)} trust"
