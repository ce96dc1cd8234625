"""`executor sources edit`: other settings for a source. What ends with them is shown first."""

from __future__ import annotations

import shlex
from typing import Any

import click

from executor.errors import ConsentRequired, InvalidRequest
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.commands.catalog.sources_choose import show_paths
from executor.surfaces.cli.commands.catalog.sources_defaults import UNSET, read_defaults
from executor.surfaces.cli.filters import chosen_from
from executor.surfaces.cli.output import clean, emit, emit_json, interactive, program, say
from executor.surfaces.cli.prompts import source_location

LOAD_SECONDS = 300.0
WITHOUT_READING = {"name", "refreshSeconds", "review", "defaults"}
INTERVALS = {"default": None, "never": 0}


@click.command("edit")
@click.argument("source", metavar="NAMESPACE")
@click.argument("location", nargs=-1, metavar="[URL|FILE|[--] COMMAND…]")
@click.option("--name", help="Display name.")
@click.option("--spec-url", metavar="URL", help="URL of the document, if it is not at the address itself.")
@click.option("--base-url", metavar="URL", help="Base URL for calls; '' for the one in the document.")
@click.option("--header", "headers", multiple=True, metavar="NAME", help="A header; its value is prompted for.")
@click.option("--remove-header", "lost_headers", multiple=True, metavar="NAME", help="Remove a header. Repeatable.")
@click.option("--transport", type=click.Choice(["auto", "http", "sse"]), help="Transport of an MCP server.")
@click.option("--env", "variables", multiple=True, metavar="NAME[=VALUE]", help="A variable of a command.")
@click.option("--pass-env", "handed_on", multiple=True, metavar="NAME", help="Pass on a variable of the daemon.")
@click.option("--remove-env", "lost_variables", multiple=True, metavar="NAME", help="Remove a variable. Repeatable.")
@click.option("--cwd", "directory", metavar="FOLDER", help="Working directory of a command.")
@click.option("--refresh", metavar="SECONDS", help="How often it is refreshed: seconds, `never` or `default`.")
@click.option(
    "--review",
    type=click.Choice(["writes", "all", "none", "default"]),
    help="Which changed tools of an MCP server wait for a review.",
)
@click.option("--default", "defaults", multiple=True, metavar="EFFECT=ACTION", help="An approval default. Repeatable.")
@click.option("--preview", is_flag=True, help="Show what would change and what would end, without changing anything.")
@click.option("--yes", is_flag=True, help="Agree to what ends, and to running the command.")
def edit(source: str, location: tuple[str, ...], preview: bool, yes: bool, as_json: bool, **given: Any) -> None:
    """Change the settings of a source: its address, headers, environment, refresh interval and more.

    Options that you leave out don't change. The source is read with its new settings first; if that fails, nothing
    changes. Approvals, permissions and credentials that were for another place end: they are shown, and you confirm.
    """
    body = _settings(location, given)
    if not body:
        raise InvalidRequest("pass what to change", hint=f"see `{program()} sources edit --help`")
    client, path = connect(), f"/v1/sources/{segment(source)}"
    present = client.get(path)
    body |= {"revision": present["revision"]} | _ask_to_run(present, body, yes=yes)
    if not WITHOUT_READING.issuperset(body.keys() - {"revision"}) and (preview or not yes):
        seen = _patch(client, path, {**body, "preview": True})
        if preview:
            emit_json(seen) if as_json else _show(seen, "would change")
            return
        _confirm(seen)
        body["consent"] = True
    edited = _patch(client, path, {**body, "preview": preview, **({"consent": True} if yes else {})})
    emit_json(edited) if as_json else _show(edited, "would change" if preview else "changed")


def _settings(location: tuple[str, ...], given: dict[str, Any]) -> dict[str, Any]:
    fields = {"name": "name", "spec_url": "specUrl", "base_url": "baseUrl", "transport": "transport",
              "directory": "directory"}  # fmt: skip
    body = {field: given[option] for option, field in fields.items() if given[option] is not None}
    if location:
        found = source_location.read_location(location, {})
        directory = found.pop("options", {}).get("cwd")
        body = {**({"directory": directory} if directory else {}), **body, **found}
    if headers := {**dict.fromkeys(given["lost_headers"]), **source_location.headers(given["headers"])}:
        body["headers"] = headers
    if variables := {**dict.fromkeys(given["lost_variables"]), **source_location.variables(given["variables"])}:
        body["environment"] = variables
    if given["handed_on"]:
        body["passEnvironment"] = list(given["handed_on"])
    if given["refresh"] is not None:
        body["refreshSeconds"] = _interval(given["refresh"])
    if given["review"] is not None:
        body["review"] = None if given["review"] == "default" else given["review"]
    if given["defaults"]:
        body["defaults"] = _defaults(given["defaults"])
    return body


def _interval(text: str) -> int | None:
    if text in INTERVALS:
        return INTERVALS[text]
    if not text.isdecimal():
        raise InvalidRequest(f"--refresh takes seconds, not {text!r}", hint="for example: 3600, never, default")
    return int(text)


def _defaults(texts: tuple[str, ...]) -> dict[str, str | None]:
    unset = {text.removesuffix(f"={UNSET}") for text in texts if text.endswith(f"={UNSET}")}
    kept = tuple(text for text in texts if not text.endswith(f"={UNSET}"))
    return {**read_defaults(kept), **dict.fromkeys(unset)}


def _ask_to_run(present: dict[str, Any], body: dict[str, Any], *, yes: bool) -> dict[str, Any]:
    """To read it, its command is run with what it is given now."""
    command = body.get("command") or (None if "location" in body else present.get("command"))
    if command is None or WITHOUT_READING.issuperset(body.keys() - {"revision"}):
        return {}
    source_location.consent("this command would run on this machine", shlex.join(command), yes=yes)
    return {"consent": True}


def _confirm(seen: dict[str, Any]) -> None:
    if not seen["invalidates"]:
        return
    _show_end(seen)
    if not interactive():
        raise ConsentRequired("no one is here to agree to this", hint="check it, then repeat with --yes")
    if not click.confirm("change it?", default=False, err=True):
        raise ConsentRequired("nothing was changed", hint="")


def _show(edited: dict[str, Any], verb: str) -> None:
    emit(f"{verb} {clean(edited['namespace'])}: {chosen_from(edited)}")
    show_paths(edited)
    if edited["invalidates"]:
        _show_end(edited)
    if edited["error"]:
        say(f"note: {clean(edited['error'])}")


def _show_end(edited: dict[str, Any]) -> None:
    for line in edited["invalidates"]["lines"]:
        say(clean(line))


def _patch(client: Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    return dict(client.follow(path, body, progress=_progress, seconds=LOAD_SECONDS, method="PATCH"))


def _progress(text: str) -> None:
    say(f"{clean(text)} …")
