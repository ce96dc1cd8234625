"""`executor sources …`: what a source was read from, what changed, what depends on it, what one would offer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from executor.errors import InvalidRequest
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.commands.catalog.tools import with_short_description
from executor.surfaces.cli.filters import chosen_from, filter_options, filters_of
from executor.surfaces.cli.output import clean, clean_lines, emit, emit_json, emit_result, say, table
from executor.surfaces.cli.prompts import source_location
from executor.surfaces.cli.source_options import options_of, source_options, with_options

LOAD_SECONDS = 300.0
MOST = 200
GROUPS = 12
SIGNS = {"added": "+", "removed": "-", "changed": "~", "reworded": "≈"}


@click.command("document")
@click.argument("source", metavar="NAMESPACE")
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write to this file instead of printing.")
def document(source: str, out: str | None, as_json: bool) -> None:
    """Print the document that a source was last read from. With --json, print details about it."""
    query = "?limit=1" if as_json and not out else ""
    answer = connect().raw(f"/v1/sources/{segment(source)}/document{query}", seconds=LOAD_SECONDS)
    view = {
        "source": source,
        "mediaType": answer.headers.get("content-type", "").partition(";")[0],
        "size": int(answer.headers.get("x-document-size", 0)),
        "digest": answer.headers.get("x-document-digest"),
        "readAt": answer.headers.get("x-document-read-at"),
    }
    if out:
        write_file(Path(out), answer.body)
    if as_json:
        emit_json({**view, **({"file": out} if out else {})})
    elif out:
        say(f"{view['size']:,} bytes written to {clean(out)}")
    elif sys.stdout.isatty():
        emit(readable(answer.body))
    else:
        sys.stdout.buffer.write(answer.body)
        sys.stdout.buffer.flush()


def readable(content: bytes) -> str:
    """For a terminal: nothing in it that would move the cursor or hide text."""
    return clean_lines(content.decode("utf-8", "replace").replace("\t", "    "))


def write_file(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InvalidRequest(f"{path} can't be written: {error.strerror}", hint="choose another --out") from error


@click.command("changes")
@click.argument("source", metavar="NAMESPACE")
@click.option("--at", metavar="TIME", help="An earlier refresh, by its time as listed at the end.")
def changes(source: str, at: str | None, as_json: bool) -> None:
    """Show what a refresh changed: added, removed and changed tools, field by field."""
    client = connect()
    path = f"/v1/sources/{segment(source)}/changes"
    found: dict[str, Any] = client.get(path, at=at, limit=MOST)
    while found["next"]:
        more = client.get(path, at=found["revision"]["at"], limit=MOST, after=found["next"])
        found = {**found, "items": found["items"] + more["items"], "next": more["next"]}
    if as_json:
        emit_json(found)
        return
    revision = found["revision"]
    if revision is None:
        say("no changes since it was connected")
        return
    counts = ", ".join(f"{revision[name]} {name}" for name in SIGNS if revision[name])
    emit(f"{clean(source)} at {clean(revision['at'])}: {counts}")
    for item in found["items"]:
        emit("\n".join(_lines(item)))
    for other in found["revisions"]:
        if other["at"] != revision["at"]:
            say(f"also changed at {clean(other['at'])}")


def _lines(item: dict[str, Any]) -> list[str]:
    lines = [f"{SIGNS[item['change']]} {clean(item['path'])}"]
    for one in item["differences"]:
        was, now = clean(one["was"]), clean(one["now"])
        view = f"{was} → {now}" if was and now else now or was
        lines.append(f"    {clean(one['at'])}: {clean(one['what'])} {view}".rstrip())
    return [*lines, "    … and more"] if item["cut"] else lines


@click.command("dependents")
@click.argument("source", metavar="NAMESPACE")
def dependents(source: str, as_json: bool) -> None:
    """Show what depends on a source: credentials, policies, pending calls and recent calls."""
    found = connect().get(f"/v1/sources/{segment(source)}/dependents")
    if as_json:
        emit_json(found)
        return
    recent = found["recent"]
    emit(f"tools        {found['tools']}")
    for one in found["connections"]:
        emit(f"credential   {clean(one['name'])} ({clean(one['scheme'])}, {clean(one['status'])})")
    for one in found["policies"]:
        emit(f"policy       {clean(one['pattern'])} → {clean(one['action'])}")
    for one in found["waiting"]:
        emit(f"pending      {clean(one['executionId'])}: {clean(one['tool'])}")
    emit(f"calls        {recent['calls']} in the last {recent['executions']} executions")


@click.command("preview")
@click.argument("location", nargs=-1, required=True, metavar="URL|FILE|NAME|[--] COMMAND…")
@click.option("--kind", default="", help="Kind of source. Default: detected.")
@click.option("--base-url", default="", metavar="URL", help="Base URL for calls.")
@source_options
@filter_options
@click.option("--yes", is_flag=True, help="Consent to running the command.")
def preview(location: tuple[str, ...], kind: str, base_url: str, yes: bool, as_json: bool, **given: Any) -> None:
    """Show the tools of a source without connecting it."""
    client = connect()
    templates = {one["id"]: one for one in client.get("/v1/templates")["items"]} if len(location) == 1 else {}
    body: dict[str, Any] = {
        **source_location.read_location(location, templates),
        "kind": kind,
        "baseUrl": base_url,
        **filters_of(given),
    }
    body = with_options(body, options_of(given))
    if "command" in body:
        source_location.consent("this command would run on this machine", " ".join(body["command"]), yes=yes)
        body["consent"] = True
    show_preview(client, body, as_json)


def show_preview(client: Client, body: dict[str, Any], as_json: bool) -> None:
    view = client.follow("/v1/sources/preview", body, progress=_progress, seconds=LOAD_SECONDS)
    if as_json:
        emit_json(view)
        return
    emit(f"{clean(view['name'])}: {chosen_from(view)}, in the namespace {clean(view['namespace'])}")
    if groups := [f"{clean(one['filter'])} ({one['tools']})" for one in view["groups"][:GROUPS]]:
        say(f"to choose some of them, filter by: {', '.join(groups)}")
    if view["tools"]:
        emit(
            table(
                [with_short_description(one) for one in view["tools"]],
                {"path": "TOOL", "effect": "EFFECT", "description": "DESCRIPTION"},
            )
        )
    if view["toolCount"] > len(view["tools"]):
        say(f"… and {view['toolCount'] - len(view['tools'])} more")
    if view["note"]:
        say(f"note: {clean(view['note'])}")


@click.command("rename")
@click.argument("source", metavar="NAMESPACE")
@click.argument("name")
def rename(source: str, name: str, as_json: bool) -> None:
    """Change a source's display name. Its namespace stays."""
    renamed = connect().patch(f"/v1/sources/{segment(source)}", {"name": name})
    emit_result(renamed, f"{clean(renamed['namespace'])} is now called {clean(renamed['name'])}", as_json)


def _progress(text: str) -> None:
    say(f"{clean(text)} …")
