from __future__ import annotations

import click

from executor.settings import Settings
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.groups import SuggestingGroup
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option, limit_option
from executor.surfaces.cli.output import as_json as json_text
from executor.surfaces.cli.output import clean, clean_lines, emit, emit_json, facts, say, table


@click.group("tools", cls=SuggestingGroup, help=COMMANDS["tools"])
def command() -> None: ...


@command.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("--namespace", help="Only in this source.")
@limit_option(10)
@json_option
def search(query: tuple[str, ...], namespace: str | None, limit: int, as_json: bool) -> None:
    """Find tools by what you want to do."""
    client = connect(Settings.load())
    found = client.get("/v1/tools/search", query=" ".join(query), namespace=namespace, limit=limit)
    if as_json:
        emit_json(found)
    elif found["items"]:
        emit(table(found["items"], {"path": "TOOL", "effect": "EFFECT", "description": "DESCRIPTION"}))
    else:
        say("nothing found")


@command.command("describe")
@click.argument("path")
@click.option("--schemas", is_flag=True, help="With the full JSON Schemas.")
@json_option
def describe(path: str, schemas: bool, as_json: bool) -> None:
    """Show a tool's signature."""
    wanted = "true" if schemas else None
    tool = connect(Settings.load()).get(f"/v1/tools/{segment(path)}", includeSchemas=wanted)
    if as_json:
        emit_json(tool)
        return
    emit(facts([(name, tool.get(name)) for name in ("path", "effect", "source", "deprecated")]))
    emit(f"\n{clean_lines(tool.get('description') or '')}\n\n{clean_lines(tool.get('signature') or '')}")
    for name in ("inputSchema", "outputSchema"):
        if tool.get(name) is not None:
            emit(f"\n{name}\n{json_text(tool[name])}")


@command.command("list")
@click.option("--prefix", help="Only paths that start so.")
@click.option("--source", metavar="NAMESPACE", help="Only of this source.")
@click.option("--after", metavar="PATH", help="Only paths after this one.")
@limit_option(100)
@json_option
def listing(prefix: str | None, source: str | None, after: str | None, limit: int, as_json: bool) -> None:
    """List tools by path."""
    page = connect(Settings.load()).get("/v1/tools", prefix=prefix, source=source, after=after, limit=limit)
    if as_json:
        emit_json(page)
    elif page["items"]:
        emit(table(page["items"], {"path": "TOOL", "effect": "EFFECT", "description": "DESCRIPTION"}))
        if page.get("next"):
            say(f"more: --after {clean(page['next'])}")
    else:
        say("no tools")
