from __future__ import annotations

from typing import Any

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.main import group
from executor.surfaces.cli.options import limit_option
from executor.surfaces.cli.output import (
    clean,
    clean_lines,
    emit,
    emit_json,
    emit_page,
    emit_result,
    facts,
    json_text,
    quote_remote,
    say,
    table,
)

FOUND = {"path": "TOOL", "effect": "EFFECT", "description": "DESCRIPTION"}
EXPLAINED = {"score": "SCORE", "why": "WHY"}
WIDTH = 120
MAX_QUERY = 1_000  # what is read of a query; far more has no room in an address
GROUPS = {"group": "GROUP", "tools": "TOOLS"}


command = group("tools")


@command.command("search")
@click.argument("query", nargs=-1)
@click.option("--namespace", metavar="PREFIX", help="Only paths with this prefix: github or github.issues.")
@click.option("--source", metavar="NAMESPACE", help="Only tools of this source.")
@click.option("--effect", type=click.Choice(["read", "write", "destructive"]), help="Only tools with this effect.")
@click.option("--depth", type=click.IntRange(0, 2), default=0, help="0: names, 1: with signatures, 2: with schemas.")
@click.option("--explain", is_flag=True, help="Show the score and which words matched where.")
@limit_option(10)
def search(query: tuple[str, ...], depth: int, explain: bool, as_json: bool, **asked: Any) -> None:
    """Find tools by what you want to do. Without a query, list the groups."""
    found = connect().get("/v1/tools/search", query=" ".join(query)[: MAX_QUERY + 1], depth=depth, **asked)
    if as_json:
        emit_json(found)
        return
    if found.get("groups"):
        emit(table([{"group": name, "tools": n} for name, n in found["groups"].items()], GROUPS))
    elif found["items"]:
        emit(table([explain_item(item) for item in found["items"]], FOUND | (EXPLAINED if explain else {})))
        for item in found["items"] if depth else ():
            emit(f"\n{clean(item['path'])}\n{clean_lines(item.get('signature') or '')}")
    else:
        say("nothing found")
    if found.get("hint"):
        say(clean(found["hint"]))


def explain_item(item: dict[str, Any]) -> dict[str, Any]:
    words = item.get("matched") or {}
    return {**item, "why": "; ".join(f"{said}: {where}" for said, where in words.items())}


@command.command("describe")
@click.argument("path")
@click.option("--schemas", is_flag=True, help="With the full JSON Schemas.")
@click.option(
    "--language", type=click.Choice(["typescript", "python"]), help="Language of the signature and the example."
)
@click.option("--budget", type=click.IntRange(150, 20_000), help="Token budget (default 1500).")
@click.option("--part", type=click.Choice(["arguments", "result", "description"]), help="Show only this part, in full.")
@click.option("--type", "types", multiple=True, metavar="NAME", help="Only this type of the signature; repeatable.")
def describe(path: str, schemas: bool, as_json: bool, **asked: Any) -> None:
    """Show a tool's signature and an example call."""
    tool = connect().get(f"/v1/tools/{segment(path)}", includeSchemas="true" if schemas else None, **asked)
    if as_json:
        emit_json(tool)
        return
    known = [(name, tool.get(name)) for name in ("path", "effect", "source", "deprecated")]
    emit(facts([*known, ("own path", tool.get("ownPath")), ("described by", tool.get("describedBy"))]))
    if tool.get("description"):
        emit(f"\n{quote_remote(tool['description'])}")
    for name in ("signature", "types"):
        if tool.get(name):
            emit(f"\n{clean_lines(tool[name])}")
    if tool.get("example"):
        emit(f"\nexample\n{clean_lines(tool['example'])}")
    for name in ("inputSchema", "outputSchema"):
        if tool.get(name) is not None:
            emit(f"\n{name}\n{json_text(tool[name])}")
    if tool.get("cut"):
        say(cut_said(tool["cut"]))


@command.command("rename")
@click.argument("path")
@click.argument("new_path", required=False)
@click.option("--reset", is_flag=True, help="Restore the source's own name.")
@click.option("--inherit-rules", is_flag=True, help="Apply policies that allow calls under the new path.")
def rename(path: str, new_path: str | None, reset: bool, inherit_rules: bool, as_json: bool) -> None:
    """Rename a tool or a group: `tools rename 'hub.issues.*' 'hub.tickets.*'`.

    Policies about the source's own name continue to apply.
    """
    if bool(new_path) == reset:
        raise click.UsageError("pass a NEW_PATH or --reset")
    body = {"path": new_path or "", **({"inheritRules": True} if inherit_rules else {})}
    answer = connect().patch(f"/v1/tools/{segment(path)}", body)
    if as_json:
        emit_json(answer)
        return
    for one in answer["renamed"]:
        emit(f"{clean(one['was'])} is now {clean(one['path'])}")
    for policy in answer["rules"]:
        say(f"this policy allowed the tool and does not match its new path: {clean(policy)}")
    if not answer["renamed"]:
        say("no name has changed")


@command.command("reword")
@click.argument("path")
@click.argument("text", required=False)
@click.option("--reset", is_flag=True, help="Restore the source's own description.")
def reword(path: str, text: str | None, reset: bool, as_json: bool) -> None:
    """Set your own description of a tool. Agents find and understand it by this text."""
    if bool(text) == reset:
        raise click.UsageError("pass a TEXT or --reset")
    answer = connect().patch(f"/v1/tools/{segment(path)}", {"description": text or ""})
    emit_result(
        answer, f"{clean(path)} now has {'the description of its source' if reset else 'your description'}", as_json
    )


@command.command("treat-as-read")
@click.argument("path")
def treat_as_read(path: str, as_json: bool) -> None:
    """Create a policy that allows a tool like a read, for example a search that is sent as POST.

    It applies to the tool as it is now and never overrides another policy. Undo it with `policies remove`.
    """
    made = connect().post(f"/v1/tools/{segment(path)}/treat-as-read", {})
    emit_result(made, f"added {clean(made['id'])}: {clean(made['text'])}", as_json)


def cut_said(cut: dict[str, Any]) -> str:
    """What had no room, and the option that shows it."""
    ways = [f"--type {clean(str(name))}" for name in cut.get("types", [])[:3]]
    ways += [f"--part {part}" for part in ("arguments", "result", "description") if part in cut]
    return f"this is not all of it; see more with {', '.join([*ways, '--budget N'])}"


def with_short_description(item: dict[str, Any]) -> dict[str, Any]:
    """The first line, as far as it has room beside the path."""
    from executor.catalog.signatures.escape import plain_text

    text = plain_text(str(item.get("description") or "").strip().partition("\n")[0])
    return {**item, "description": text if len(text) <= WIDTH else text[: WIDTH - 1].rsplit(" ", 1)[0] + " …"}


@command.command("list")
@click.argument("beginning", metavar="[PREFIX]", required=False)
@click.option("--prefix", help="Only paths with this prefix.")
@click.option("--source", metavar="NAMESPACE", help="Only tools of this source.")
@click.option("--after", metavar="PATH", help="Only paths after this one.")
@limit_option(100)
def listing(
    beginning: str | None, prefix: str | None, source: str | None, after: str | None, limit: int, as_json: bool
) -> None:
    """List tools by path: all, or those with a prefix such as github or github.issues."""
    page = connect().get("/v1/tools", prefix=prefix or beginning, source=source, after=after, limit=limit)
    rows = [with_short_description(item) for item in page["items"]]
    emit_page(page, FOUND, as_json, rows=rows, empty="no tools", more="--after")
