"""`executor sources definitions` and `manifest`: what there is to call, of one source or of all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.commands.catalog.sources_inspect import readable, write_file
from executor.surfaces.cli.output import clean, emit, emit_json, json_text, say, table

LOAD_SECONDS = 300.0
PAGE = 1000
COLUMNS = {"path": "TOOL", "effect": "EFFECT", "action": "POLICY", "digest": "DIGEST"}
SHORT = 12
OUT = click.option(
    "--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write to this file instead of printing."
)


@click.command("definitions")
@click.argument("source", metavar="[NAMESPACE]", required=False)
@click.option(
    "--language", type=click.Choice(["typescript", "python"]), default="typescript", help="A .d.ts or a .pyi file."
)
@OUT
def definitions(source: str | None, language: str, out: str | None, as_json: bool) -> None:
    """Print the types of a source's tools, or of all tools, for your editor."""
    query = f"?language={language}"
    content = connect().raw(f"{_base(source)}/definitions{query}", seconds=LOAD_SECONDS).body
    if out:
        write_file(Path(out), content)
        say(f"{len(content):,} bytes written to {clean(out)}")
    if as_json:
        view: dict[str, Any] = {"source": source, "language": language}
        emit_json({**view, "file": out} if out else {**view, "text": content.decode()})
    elif not out and sys.stdout.isatty():
        emit(readable(content))
    elif not out:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


@click.command("manifest")
@click.argument("source", metavar="[NAMESPACE]", required=False)
@OUT
def manifest(source: str | None, out: str | None, as_json: bool) -> None:
    """List every tool with its effect, its digest and the policy in force for you."""
    found = _read_manifest(source)
    if out:
        write_file(Path(out), f"{json_text(found)}\n".encode())
        say(f"{len(found['items']):,} tools written to {clean(out)}")
    elif as_json:
        emit_json(found)
    elif found["items"]:
        emit(table([_row(one) for one in found["items"]], COLUMNS))
    else:
        say("no tools")


def _read_manifest(source: str | None) -> dict[str, Any]:
    client, path, after = connect(), f"{_base(source)}/manifest", ""
    sources: dict[str, Any] = {}
    items: list[Any] = []
    while True:
        page = client.get(path, limit=PAGE, after=after or None)
        sources |= {one["id"]: one for one in page["sources"]}
        items += page["items"]
        if not (after := page["next"]):
            return {"sources": list(sources.values()), "items": items}


def _row(tool: dict[str, Any]) -> dict[str, Any]:
    policy = tool["policy"]
    action = f"{policy['action']}{' *' if policy['conditional'] else ''}"
    return {**tool, "action": action, "digest": tool["digest"][:SHORT]}


def _base(source: str | None) -> str:
    return f"/v1/sources/{segment(source)}" if source else "/v1/catalog"
