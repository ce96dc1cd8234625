from __future__ import annotations

import shlex
from typing import Any

import click

from executor.errors import ExecutorError, InvalidRequest
from executor.sources import placeholders
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.commands.catalog import (
    sources_choose,
    sources_defaults,
    sources_definitions,
    sources_edit,
    sources_hints,
    sources_inspect,
    sources_review,
)
from executor.surfaces.cli.filters import chosen_from, filter_options, filters_of
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import (
    clean,
    emit,
    emit_json,
    emit_page,
    emit_result,
    facts,
    interactive,
    program,
    say,
    show_error,
    with_flags,
)
from executor.surfaces.cli.prompts import source_credential, source_location
from executor.surfaces.cli.source_options import options_of, source_options, with_options, with_transport

LOAD_SECONDS = 300.0
SHOWN = 10
DESCRIBED = 120


command = group("sources")


@command.command("add", context_settings={"ignore_unknown_options": False})
@click.argument("location", nargs=-1, metavar="URL|FILE|NAME|[--] COMMAND…")
@click.option("--demo", is_flag=True, help="Add the built-in sample API; needs no location.")
@click.option("--kind", help="Kind of source (openapi, graphql, mcp …). Default: detected.")
@click.option("--namespace", help="First part of every tool path. Default: derived from the source.")
@click.option("--name", help="Display name. Default: from the source.")
@click.option("--spec-url", metavar="URL", help="URL of the document, if LOCATION is the service itself.")
@click.option("--base-url", metavar="URL", help="Base URL for calls. Default: from the document.")
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME",
    help="A header for every request. Its value is prompted for, or read from standard input. Repeatable.",
)
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="An environment variable for a command. Without VALUE it is prompted for; use VALUE only for what is not "
    "secret. Repeatable.",
)
@click.option(
    "--pass-env",
    "handed_on",
    multiple=True,
    metavar="NAME",
    help="Pass on this environment variable of the daemon. Repeatable.",
)
@source_options
@filter_options
@click.option(
    "--hints",
    type=click.Choice(["trust", "ask"]),
    help="Whether to trust an MCP server's read-only hints. Default: prompt in a terminal, otherwise `ask`.",
)
@click.option(
    "--default",
    "defaults",
    multiple=True,
    metavar="EFFECT=ACTION",
    help="What happens to calls that no policy decides about, such as write=deny. Repeatable.",
)
@click.option("--bearer", "scheme", flag_value="bearer", help="Connect it with a bearer token, used to read it too.")
@click.option("--basic", "scheme", flag_value="basic", help="Connect it with a user name and a password.")
@click.option(
    "--secret", default="", metavar="NAME", help="With --bearer: use this secret instead of entering a value."
)
@click.option("--no-open", is_flag=True, help="Print the link of a login instead of opening a browser.")
@click.option("--preview", is_flag=True, help="Show what would be added without adding it.")
@click.option("--inherit-rules", is_flag=True, help="Apply existing policies that allow calls in this namespace.")
@click.option("--yes", is_flag=True, help="Consent to running the command or importing the module.")
def add(location: tuple[str, ...], demo: bool, yes: bool, preview: bool, as_json: bool, **given: Any) -> None:
    """Connect an API, a GraphQL or MCP server, or a module of Python functions.

    LOCATION is the URL of a document, page or endpoint, the file of a document, the name of a template, python:MODULE,
    or the command of an MCP server: `sources add -- npx -y @modelcontextprotocol/server-everything`.
    """
    if bool(location) == demo:
        raise InvalidRequest("pass either a location or --demo", hint=f"see `{program()} sources add --help`")
    client = connect()
    if demo:
        _print_added(client.post("/v1/sources/demo", seconds=LOAD_SECONDS), as_json)
        return
    templates = {one["id"]: one for one in client.get("/v1/templates")["items"]} if len(location) == 1 else {}
    body = {**_options(given), **source_location.read_location(location, templates)}
    body = with_transport(with_options(body, options_of(given)), given["transport"])
    if defaults := sources_defaults.read_defaults(given["defaults"]):
        body["defaults"] = defaults
    if names := source_location.variables(given["variables"], given["handed_on"]):
        body = with_options(body, {"env": names})
    if template := templates.get(str(body.get("location"))):
        say(f"{clean(template['name'])}: {clean(template['kind'])} at {clean(template['location'])}")
    if note := (template or {}).get("note"):
        say(f"note: {clean(note)}")
    body |= _ask_consent(body, yes=yes)
    if not (body.get("kind") or body.get("command") or template):
        body |= _probe(client, body)
    if preview:
        sources_inspect.show_preview(client, body, as_json)
        return
    if given["hints"]:
        body["hints"] = given["hints"]
    wanted = source_credential.Wanted.read(given, asks=not as_json and interactive())
    source = client.follow("/v1/sources", body, progress=_progress, seconds=LOAD_SECONDS)
    was_unread = source["unread"]
    source = source_credential.connect(client, source, wanted, lambda: _refresh(client, source["namespace"]))
    if was_unread and not source["unread"] and source.get("hints"):
        source["hints"] = sources_hints.first_hints(client, source["namespace"], given["hints"])
    _print_added(source, as_json)
    if source.get("hints") and not as_json:
        sources_hints.show_or_decide(client, source, is_decided=given["hints"] is not None)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    fields = {"kind": "kind", "namespace": "namespace", "name": "name", "spec_url": "specUrl", "base_url": "baseUrl"}
    body = {field: given[option] for option, field in fields.items() if given[option]}
    if given["inherit_rules"]:
        body["inheritRules"] = True
    body |= filters_of(given)
    return body | ({"headers": found} if (found := source_location.headers(given["headers"])) else {})


def _ask_consent(body: dict[str, Any], *, yes: bool) -> dict[str, Any]:
    location = str(body.get("location", ""))
    if "command" in body:
        source_location.consent("this command would run on this machine", shlex.join(body["command"]), yes=yes)
    elif body.get("kind") == "python" or location.startswith("python:"):
        source_location.consent("this module would be imported into the daemon, where its code runs", location, yes=yes)
    elif not yes:
        return {}
    return {"consent": True}


def _probe(client: Client, body: dict[str, Any]) -> dict[str, Any]:
    """Ask what is there, show it, and connect exactly that."""
    say("detecting its kind …")
    found = client.post("/v1/sources/probe", body, seconds=LOAD_SECONDS)
    labels = {
        "kind": "kind",
        "name": "name",
        "location": "location",
        "calls go to": "baseUrl",
        "transport": "transport",
    }
    say(facts([("found", "")] + [(label, found.get(field)) for label, field in labels.items()]))
    for auth in found.get("auth") or () if not found["guarded"] else ():
        say(f"requires {_auth(auth)}")
    if found.get("note"):
        say(f"note: {clean(with_flags(found['note']))}")
    if found.get("warning"):
        say(f"warning: {clean(found['warning'])}\n  if you meant another document, check the address and add it again")
    kept = {"kind": found["kind"]} if not found["guarded"] else {}  # what it is shows once it can be read
    if "document" not in body and found.get("location"):
        kept["location"] = found["location"]
    return kept | ({"namespace": found["namespace"]} if found.get("namespace") and not body.get("namespace") else {})


@command.command("templates")
def templates(as_json: bool) -> None:
    """List templates: well-known sources that you can add by name."""
    page = connect().get("/v1/templates")
    emit_page(page, {"id": "NAME", "kind": "KIND", "name": "PROVIDER", "auth": "CREDENTIAL"}, as_json)


@command.command("list")
def listing(as_json: bool) -> None:
    """List the connected sources."""
    page = connect().get("/v1/sources")
    columns = {"namespace": "NAMESPACE", "kind": "KIND", "status": "STATUS", "toolCount": "TOOLS", "name": "NAME"}
    emit_page(page, columns, as_json, empty=f"no sources yet; connect one:\n  {program()} sources add https://…")


@command.command("show")
@click.argument("source", metavar="NAMESPACE")
def show(source: str, as_json: bool) -> None:
    """Show a source and the parts of it that could not be used."""
    found = connect().get(f"/v1/sources/{segment(source)}")
    if as_json:
        emit_json(found)
        return
    shown = {
        **found,
        "command": shlex.join(found.get("command") or ()),
        "headers": ", ".join(found.get("headers") or ()),
        "environment": ", ".join(found.get("environment") or ()),
    }
    choice = found.get("choice") or {}
    filters = [(name, ", ".join(choice.get(name, ()))) for name in ("include", "exclude")]
    tools = [("chosen", chosen_from(found))] if choice else []
    emit(facts([*((label, shown.get(field)) for label, field in _FACTS.items()), *tools, *filters]))
    for auth in found.get("auth") or ():
        emit(f"requires  {_auth(auth)}")
    for skipped in found.get("skipped") or ():
        emit(f"skipped   {clean(skipped.get('where'))}: {clean(skipped.get('reason'))}")


_FACTS = {
    "namespace": "namespace",
    "name": "name",
    "kind": "kind",
    "status": "status",
    "error": "error",
    "warning": "warning",
    "location": "location",
    "command": "command",
    "transport": "transport",
    "calls go to": "baseUrl",
    "document": "specUrl",
    "headers": "headers",
    "environment": "environment",
    "directory": "directory",
    "refresh every": "refreshSeconds",
    "review of changes": "review",
    "tools": "toolCount",
    "added": "createdAt",
    "refreshed": "refreshedAt",
    "id": "id",
}


@command.command("refresh")
@click.argument("source", metavar="[NAMESPACE]", required=False)
def refresh(source: str | None, as_json: bool) -> int:
    """Refresh one source or all of them, and show what changed."""
    client = connect()
    names = [source] if source else [one["namespace"] for one in client.get("/v1/sources")["items"]]
    if not source:
        return _refresh_all(client, names, as_json)
    refreshed = _refresh(client, names[0])
    if as_json:
        emit_json(refreshed)
    else:
        _show_differences(refreshed)
    return exit_codes.COMPLETED


def _refresh_all(client: Client, names: list[str], as_json: bool) -> int:
    """One that can't be read does not keep the others from being read."""
    items, failures = [], 0
    for name in names:
        try:
            items.append(_refresh(client, name))
            if not as_json:
                _show_differences(items[-1])
        except ExecutorError as error:
            failures += 1
            say(f"{clean(name)} can't be refreshed; its tools are unchanged")
            show_error(error)
    if as_json:
        emit_json({"items": items, "failed": failures})
    return exit_codes.FAILED if failures else exit_codes.COMPLETED


def _refresh(client: Client, name: str) -> dict[str, Any]:
    path = f"/v1/sources/{segment(name)}/refresh"
    return dict(client.follow(path, {}, progress=_progress, seconds=LOAD_SECONDS))


@command.command("remove")
@click.argument("source", metavar="NAMESPACE")
def remove(source: str, as_json: bool) -> None:
    """Disconnect a source. Its tools are removed; its history stays."""
    answer = connect().delete(f"/v1/sources/{segment(source)}")
    emit_result(answer or {"removed": source}, f"removed {clean(source)}", as_json)


def _print_added(source: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(source)
        return
    emit(f"added {clean(source['namespace'])}: {chosen_from(source)}")
    if source["unread"]:
        source_credential.say_how_to_connect(source)
        return
    _show_skipped(source)
    if address := placeholders.note(source.get("baseUrl") or ""):
        say(f"note: {clean(with_flags(address))}")
    _show_policies(source)
    needed = source.get("auth") or () if not source.get("headers") else ()
    for auth in needed:
        say(f"calls will need {_auth(auth)}")
    if needed:
        oauth = any(auth.get("type") in ("oauth2", "openIdConnect") for auth in needed)
        act = "login" if oauth else "add"
        say(f"to add a credential: {program()} connections {act} {clean(source['namespace'])}")
        say("or call a tool: the call waits until you add one")


def _show_policies(source: dict[str, Any]) -> None:
    """Policies that allow calls in its namespace: those that apply to it, and those that don't without consent."""
    for policy in source.get("rules") or ():
        if policy["holds"]:
            say(f"this policy applies to it: {clean(policy['text'])}")
        else:
            say(f"this policy covers its namespace but does not apply to it: {clean(policy['text'])}")
            say(f"  to apply it:\n  {program()} policies renew {clean(policy['id'])}")


def count_of(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _show_differences(source: dict[str, Any]) -> None:
    news = "no changes" if source.get("unchanged") else _count_tools(source)
    emit(f"refreshed {clean(source['namespace'])}: {chosen_from(source)}, {news}")
    sources_choose.show_paths(source)
    sources_review.show_held(source)
    _show_skipped(source)


def _count_tools(source: dict[str, Any]) -> str:
    fields = ("added", "removed", "changed")
    counts = [f"{len(source.get(field) or ())} {field}" for field in fields if any(map(source.get, fields))]
    held = [f"{len(source['held'])} held for a review"] if source.get("held") else []
    return ", ".join(counts + held) or "no changes"


def _show_skipped(source: dict[str, Any]) -> None:
    skipped = source.get("skipped") or ()
    if not skipped:
        return
    say(f"{count_of(len(skipped), 'part')} {'was' if len(skipped) == 1 else 'were'} skipped:")
    for one in skipped[:SHOWN]:
        say(f"  {clean(one.get('where'))}: {clean(one.get('reason'))}")
    if len(skipped) > SHOWN:
        say(f"  … see all: {program()} sources show {clean(source['namespace'])}")


def _auth(auth: dict[str, Any]) -> str:
    """The first sentence of what the document says about it."""
    from executor.catalog.signatures.escape import first_sentence

    said = first_sentence(str(auth.get("description") or ""), DESCRIBED)
    return clean(f"{auth.get('name')} ({auth.get('type')}){f': {said}' if said else ''}")


def _progress(text: str) -> None:
    say(f"{clean(text)} …")


for one in (sources_inspect.document, sources_inspect.changes, sources_inspect.dependents, sources_inspect.preview,
            sources_inspect.rename, sources_choose.choose, sources_hints.hints, sources_review.review,
            sources_defaults.defaults, sources_edit.edit, sources_definitions.definitions,
            sources_definitions.manifest):  # fmt: skip
    command.add_command(one)
