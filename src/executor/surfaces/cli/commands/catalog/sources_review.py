"""`executor sources review`: changed tools of a server, and accepting them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from executor.errors import InvalidRequest
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.output import clean, emit, emit_json, interactive, program, say

PAGE = 200
SAID = 2_000


@click.command("review")
@click.argument("source", metavar="NAMESPACE")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@click.option("--accept", is_flag=True, help="Accept what is shown: these tools, or all of them.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def review(source: str, paths: tuple[str, ...], accept: bool, yes: bool, as_json: bool) -> None:
    """Show the tools that an MCP server has changed and no one has reviewed yet; with --accept, accept the changes.

    Until then their old definitions stay. Calls of a changed tool are refused, unless only its description is another.

    Examples:

    \b
      executor sources review mail
      executor sources review mail mail.send --accept
    """
    client = connect()
    found, items = _read(client, source, paths)
    if accept and not as_json:
        _show_all(items)
    if accept and items:
        _confirm(items, yes=yes)
        chosen = [{"path": one["path"], "digest": one["digest"]} for one in items]
        found = client.request("POST", f"/v1/sources/{segment(source)}/review/accept", {"tools": chosen})
    if as_json:
        emit_json(found if accept else {**found, "items": items, "next": None})
    elif accept and items:
        say(f"{len(items)} accepted; {found['total']} still to review")
    elif not accept:
        _show_all(items)
        say(_summary(source, found, items))


def show_held(source: dict[str, Any]) -> None:
    """After a refresh: what the server changed and no one has reviewed."""
    if held := source.get("held"):
        waiting = "1 changed tool waits" if len(held) == 1 else f"{len(held)} changed tools wait"
        say(f"{waiting} for a review:\n  {program()} sources review {clean(source['namespace'])}")


def _read(client: Client, source: str, paths: tuple[str, ...]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    pages = list(_pages(client, source))
    items = [one for page in pages for one in page["items"] if not paths or one["path"] in paths]
    if missing := set(paths) - {one["path"] for one in items}:
        raise InvalidRequest(
            f"no change of {sorted(missing)[0]} waits for a review", hint=f"see `{program()} sources review {source}`"
        )
    return pages[0], items


def _pages(client: Client, source: str) -> Iterator[dict[str, Any]]:
    after = ""
    while True:
        page = client.get(f"/v1/sources/{segment(source)}/review?limit={PAGE}&after={segment(after)}")
        yield page
        if not page["next"]:
            return
        after = page["next"]


def _show_all(items: list[dict[str, Any]]) -> None:
    for one in items:
        state = "refused until you accept it" if one["refused"] else "in use with its old description"
        emit(f"{clean(one['path'])}  {one['effect']}  {state}  since {one['since']}")
        was, now = one["description"]["was"], one["description"]["now"]
        if was != now:
            emit(f"  - {clean((was or '(new)')[:SAID])}")
            emit(f"  + {clean((now or '')[:SAID])}")
        for each in one["differences"]:
            values = " -> ".join(filter(None, (clean(each["was"]), clean(each["now"]))))
            emit(f"  {clean(each['at'])} {each['what']}{': ' if values else ''}{values}")
        if one["cut"]:
            emit("  … there is more: see the tool's document")


def _confirm(items: list[dict[str, Any]], *, yes: bool) -> None:
    """Whatever is unclear means no."""
    if yes:
        return
    if not interactive():
        raise InvalidRequest("accepting changes needs your confirmation", hint="look at them, then pass --yes")
    what = "this change" if len(items) == 1 else f"these {len(items)} changes"
    click.confirm(f"Accept {what} as shown?", abort=True, default=False, err=True)


def _summary(source: str, found: dict[str, Any], items: list[dict[str, Any]]) -> str:
    modes = {"writes": "changed tools that write wait", "all": "all changed tools wait", "none": "no change waits"}
    if not items:
        return f"nothing to review; {modes[found['mode']]} for a review"
    return f"{len(items)} to review; to accept:\n  {program()} sources review {clean(source)} --accept"
