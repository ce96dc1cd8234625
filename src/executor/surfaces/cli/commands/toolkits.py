from __future__ import annotations

from typing import Any

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.commands.identity.keys import print_end, show_token
from executor.surfaces.cli.main import SuggestingGroup, add_group, group
from executor.surfaces.cli.output import clean, emit, emit_json, emit_page, facts, say, with_program

COLUMNS = {"slug": "TOOLKIT", "name": "NAME", "tools": "TOOLS", "exposed": "PASSED THROUGH", "patterns": "PATTERNS"}
TOOL_COLUMNS = {"path": "TOOL", "effect": "EFFECT", "name": "MCP TOOL"}
KEY_COLUMNS = {
    "id": "ID",
    "name": "NAME",
    "prefix": "PREFIX",
    "expiresAt": "EXPIRES",
    "lastUsedAt": "LAST USED",
    "revokedAt": "REVOKED",
}
slug_argument = click.argument("slug", metavar="TOOLKIT")

command = group("toolkits")
keys = SuggestingGroup("keys", help="Manage the keys of a toolkit. Each reaches that toolkit alone.")
add_group(command, keys)


def toolkit_options(action: Any) -> Any:
    for option in (
        click.option("--pass-through", multiple=True, metavar="PATTERN",
                     help="Tools that MCP clients also see as tools of their own; repeatable."),
        click.option("--ask", multiple=True, metavar="PATTERN",
                     help="Require approval for these tools; repeatable."),
        click.option("--deny", multiple=True, metavar="PATTERN", help="Leave these tools out; repeatable."),
        click.option("--description", help="What it is for."),
        click.option("--name", help="Name for people. Default: the slug."),
    ):  # fmt: skip
        action = option(action)
    return action


@command.command("add")
@click.argument("slug")
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN...")
@toolkit_options
def add(slug: str, patterns: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Create a toolkit of the tools that match a PATTERN, such as 'github.issues.*'.

    Example: executor toolkits add support 'github.issues.*' 'slack.**' --deny 'github.*.delete'
    """
    added = connect().post("/v1/toolkits", {"slug": slug, "patterns": list(patterns), **body_of(given)})
    show_change("created", added, as_json)


@command.command("list")
def listing(as_json: bool) -> None:
    """List toolkits."""
    page = connect().get("/v1/toolkits")
    rows = [{**one, "patterns": ", ".join(one["patterns"])} for one in page["items"]]
    emit_page(page, COLUMNS, as_json, rows=rows, empty="no toolkits yet")


@command.command("show")
@slug_argument
def show(slug: str, as_json: bool) -> None:
    """Show a toolkit."""
    found = connect().get(f"/v1/toolkits/{segment(slug)}")
    if as_json:
        emit_json(found)
        return
    policies = "; ".join(one["text"] for one in found["policies"])
    lists = [(key, ", ".join(found[key])) for key in ("patterns", "passThrough", "unmatched")]
    shown = [(key, found[key]) for key in ("slug", "name", "description", "id", "endpoint", "tools", "exposed")]
    emit(facts([*shown, *lists, ("policies", policies), *((key, found[key]) for key in ("revision", "createdAt"))]))


@command.command("edit")
@slug_argument
@click.option("--slug", "new_slug", help="New slug. Its address changes with it.")
@click.option("--pattern", "patterns", multiple=True, help="Replace all patterns; repeatable.")
@click.option("--no-policies", is_flag=True, help="Remove its policies.")
@click.option("--no-pass-through", is_flag=True, help="Pass no tool through.")
@click.option("--revision", default="", help="Change it only if it still has this revision.")
@toolkit_options
def edit(slug: str, new_slug: str | None, patterns: tuple[str, ...], no_policies: bool, no_pass_through: bool,
         revision: str, as_json: bool, **given: Any) -> None:  # fmt: skip
    """Change a toolkit. Options you leave out stay as they are; --deny and --ask together replace its policies.

    Example: executor toolkits edit support --pattern 'github.issues.*' --pass-through 'github.issues.get'
    """
    body = body_of(given) | ({"slug": new_slug} if new_slug else {}) | ({"patterns": [*patterns]} if patterns else {})
    body |= ({"policies": []} if no_policies else {}) | ({"passThrough": []} if no_pass_through else {})
    body |= {"revision": revision} if revision else {}
    show_change("changed", connect().patch(f"/v1/toolkits/{segment(slug)}", body), as_json)


@command.command("tools")
@slug_argument
@click.option("--limit", type=click.IntRange(1, 1000), default=200, show_default=True, help="How many to list.")
@click.option("--after", default="", metavar="PATH", help="Continue after this path.")
def tools(slug: str, limit: int, after: str, as_json: bool) -> None:
    """List the tools in a toolkit."""
    page = connect().get(f"/v1/toolkits/{segment(slug)}/tools", limit=limit, after=after)
    emit_page(page, TOOL_COLUMNS, as_json, empty="no tool matches its patterns", more="--after")


@command.command("remove")
@slug_argument
def remove(slug: str, as_json: bool) -> None:
    """Remove a toolkit and revoke its keys. What runs in it calls nothing more."""
    connect().delete(f"/v1/toolkits/{segment(slug)}")
    print_end("removed", slug, as_json)


@keys.command("create")
@slug_argument
@click.argument("name")
@click.option("--days", type=click.IntRange(1, 3650), help="How long the key is valid. Default: until you revoke it.")
def create_key(slug: str, name: str, days: int | None, as_json: bool) -> None:
    """Create a key: an agent called NAME that reaches this toolkit alone. Its token is shown only once."""
    body = {"name": name} | ({"expiresInDays": days} if days else {})
    client = connect()
    show_token(client.post(f"/v1/toolkits/{segment(slug)}/keys", body), as_json)
    if not as_json:
        say(f"use it at {clean(client.get(f'/v1/toolkits/{segment(slug)}')['endpoint'])}")


@keys.command("list")
@slug_argument
def list_keys(slug: str, as_json: bool) -> None:
    """List the keys of a toolkit."""
    emit_page(connect().get(f"/v1/toolkits/{segment(slug)}/keys"), KEY_COLUMNS, as_json, empty="no keys yet")


@keys.command("revoke")
@slug_argument
@click.argument("key_id", metavar="ID")
def revoke_key(slug: str, key_id: str, as_json: bool) -> None:
    """Revoke a key immediately."""
    connect().delete(f"/v1/toolkits/{segment(slug)}/keys/{segment(key_id)}")
    print_end("revoked", key_id, as_json)


def body_of(given: dict[str, Any]) -> dict[str, Any]:
    """Without what was left out."""
    body = {name: given[name] for name in ("name", "description") if given[name] is not None}
    actions = (("deny", given["deny"]), ("require_approval", given["ask"]))
    policies = [{"pattern": pattern, "action": action} for action, patterns in actions for pattern in patterns]
    body |= {"policies": policies} if policies else {}
    return body | ({"passThrough": [*given["pass_through"]]} if given["pass_through"] else {})


def show_change(how: str, toolkit: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(toolkit)
        return
    passed = f", {toolkit['exposed']} passed through" if toolkit["exposed"] else ""
    emit(f"{how} {clean(toolkit['slug'])}: {toolkit['tools']} tools{passed}")
    say(f"its address: {clean(toolkit['endpoint'])}")
    for pattern in toolkit["unmatched"]:
        say(with_program(f"warning: no tool matches {clean(pattern)} now; `executor tools list` lists what is there"))
