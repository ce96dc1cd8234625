from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from executor.errors import InvalidRequest
from executor.settings import Settings
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, emit, emit_json, facts, program, say, table

LOAD_SECONDS = 180.0
DOCUMENT_BYTES = 64 * 1024 * 1024


@click.group("sources", cls=SuggestingGroup, help=COMMANDS["sources"])
def command() -> None: ...


@command.command("add")
@click.argument("location")
@click.option("--kind", default="openapi", show_default=True, help="What the location is.")
@click.option("--namespace", help="First part of every tool's path; from the document if not given.")
@click.option("--name", help="A name for people; from the document if not given.")
@click.option("--base-url", metavar="URL", help="Where calls are sent; from the document if not given.")
@json_option
def add(location: str, kind: str, namespace: str | None, name: str | None, base_url: str | None, as_json: bool) -> None:
    """Connect an API from the URL or the file of its document."""
    body: dict[str, Any] = {"kind": kind, "namespace": namespace, "name": name, "baseUrl": base_url}
    body = {field: value for field, value in body.items() if value} | _located(location)
    source = connect(Settings.load()).post("/v1/sources", body, seconds=LOAD_SECONDS)
    _changed("added", source, as_json)


@command.command("list")
@json_option
def listing(as_json: bool) -> None:
    """List the connected sources."""
    page = connect(Settings.load()).get("/v1/sources")
    if as_json:
        emit_json(page)
    elif page["items"]:
        columns = {"namespace": "NAMESPACE", "kind": "KIND", "status": "STATUS", "toolCount": "TOOLS", "name": "NAME"}
        emit(table(page["items"], columns))
    else:
        say(f"no sources yet; connect one:\n  {program()} sources add https://…/openapi.json")


@command.command("show")
@click.argument("source", metavar="NAMESPACE")
@json_option
def show(source: str, as_json: bool) -> None:
    """Show one source, and what of its document could not be used."""
    found = connect(Settings.load()).get(f"/v1/sources/{segment(source)}")
    if as_json:
        emit_json(found)
        return
    emit(facts([(label, found.get(field)) for label, field in _FACTS.items()]))
    for skipped in found.get("skipped") or ():
        emit(f"left out  {clean(skipped.get('where'))}: {clean(skipped.get('reason'))}")


_FACTS = {
    "namespace": "namespace",
    "name": "name",
    "kind": "kind",
    "status": "status",
    "error": "error",
    "location": "location",
    "calls go to": "baseUrl",
    "tools": "toolCount",
    "added": "createdAt",
    "refreshed": "refreshedAt",
    "id": "id",
}


@command.command("refresh")
@click.argument("source", metavar="NAMESPACE")
@json_option
def refresh(source: str, as_json: bool) -> None:
    """Read the source's document again."""
    path = f"/v1/sources/{segment(source)}/refresh"
    _changed("refreshed", connect(Settings.load()).post(path, seconds=LOAD_SECONDS), as_json)


@command.command("remove")
@click.argument("source", metavar="NAMESPACE")
@json_option
def remove(source: str, as_json: bool) -> None:
    """Disconnect a source; its tools are gone, its history stays."""
    answer = connect(Settings.load()).delete(f"/v1/sources/{segment(source)}")
    if as_json:
        emit_json(answer or {"removed": source})
    else:
        emit(f"removed {clean(source)}")


def _located(location: str) -> dict[str, str]:
    """A file is read here, as the user who named it; the daemon gets its text."""
    if "://" in location:
        return {"location": location}
    path = Path(location).expanduser()
    try:
        if path.stat().st_size > DOCUMENT_BYTES:
            raise InvalidRequest(f"the file {location} is larger than {DOCUMENT_BYTES:,} bytes", hint="split it")
        return {"location": str(path.absolute()), "document": path.read_text(encoding="utf-8-sig")}
    except OSError as error:
        raise InvalidRequest(
            f"the file {location} can't be read: {error.strerror}",
            hint="give a file, or a URL that starts with http:// or https://",
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the file {location} is not UTF-8", hint="save it as UTF-8") from error


def _changed(what: str, source: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(source)
        return
    emit(f"{what} {clean(source['namespace'])}: {source.get('toolCount', 0)} tools")
    if skipped := source.get("skipped"):
        say(f"{len(skipped)} parts of the document were left out:")
        say(f"  {program()} sources show {clean(source['namespace'])}")
