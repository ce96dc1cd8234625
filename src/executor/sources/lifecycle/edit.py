"""An edit: other settings for a source, and the request that reads it with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from executor.dataclass import dataclass
from executor.errors import Conflict, EgressRefused, InvalidRequest
from executor.model.credentials import PLAIN_HEADER
from executor.model.digest import digest
from executor.model.source import REFRESH, REVIEW, Source, hosted_as
from executor.network.addresses import parse
from executor.sources.kind import DECIDING
from executor.sources.lifecycle.address_grants import is_url
from executor.sources.source_request import Consent, Previous, SourceRequest

AS_SET = -1  # a refresh interval: that of the setting `refresh_seconds`
REVIEW_AS_SET = ""  # as the setting `mcp_review` says
WITHOUT_READING = frozenset({"name", "refresh_seconds", "review"})
COMMAND_ONLY = ("environment", "handed_on", "directory")
Variables = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Edit:
    """What is None stays. Of `headers` and `environment`, names that are not given stay, and None removes one.

    An empty `base_url` is what the document says, an empty `transport` is detected. `handed_on` are variables that a
    command gets from the daemon. `document` is the content of a file, `location` then its path, if any.
    """

    name: str | None = None
    location: str | None = None
    document: bytes | None = None
    command: tuple[str, ...] | None = None
    spec_url: str | None = None
    base_url: str | None = None
    headers: Variables | None = None
    transport: str | None = None
    environment: Variables | None = None
    handed_on: tuple[str, ...] | None = None
    directory: str | None = None
    refresh_seconds: int | None = None
    review: str | None = None

    @property
    def settings(self) -> list[str]:
        return [one.name for one in fields(self) if getattr(self, one.name) is not None]

    @property
    def is_read(self) -> bool:
        """Whether the source has to be read with it before it can take effect."""
        return not WITHOUT_READING.issuperset(self.settings)


def revision_of(source: Source) -> str:
    """Another one after each edit, and the same as long as only its tools change."""
    kept = {name: source.config.get(name) for name in (*DECIDING, "spec_url", REFRESH, REVIEW)}
    return digest([source.name, kept])[:16]


def check_revision(source: Source, expected: str) -> None:
    if expected and expected != revision_of(source):
        raise Conflict(
            f"{source.namespace} was changed by someone else in the meantime",
            hint="look at its settings again, then repeat the edit",
            revision=revision_of(source),
        )


def check_editable(source: Source, edit: Edit) -> None:
    if edit.is_read and hosted_as(source):
        raise Conflict(f"the daemon itself runs {source.namespace}", hint="only its name can be changed")
    if edit.document is None and edit.location is not None and is_file(source.kind, edit.location):
        raise InvalidRequest(
            f"{edit.location[:200]!r} is not an address",
            hint="begin it with https://; the content of a file goes into `document`, as the CLI sends it",
        )
    if edit.spec_url and not is_url(edit.spec_url):
        raise InvalidRequest(f"{edit.spec_url[:200]!r} is not an address", hint="begin it with https://")
    if edit.command == () or (edit.command is None and edit.location == "" and edit.document is None):
        raise InvalidRequest("a source needs an address or a command", hint="leave it out to keep the one it has")
    if edit.command is not None and (edit.location is not None or source.kind != "mcp"):
        raise InvalidRequest("only an MCP server is run by a command, instead of an address", hint="pass one of them")
    check_parts(source, edit)


def check_parts(source: Source, edit: Edit) -> None:
    is_run = edit.command is not None or (bool(source.known_keys.get("command")) and edit.location is None)
    if not is_run and any(getattr(edit, name) for name in COMMAND_ONLY):
        raise InvalidRequest(
            f"{source.namespace} is not run by a command, so it has no environment and no working directory",
            hint="leave them out",
        )
    if is_run and edit.headers:
        raise InvalidRequest(
            f"{source.namespace} is run by a command, which takes no headers", hint="use `environment`"
        )
    if edit.review and source.kind != "mcp":
        raise InvalidRequest("only changed tools of MCP servers wait for a review", hint="leave out `review`")
    if edit.transport and (is_run or source.kind != "mcp"):
        raise InvalidRequest("only an MCP server at an address has a transport", hint="leave it out")
    if source.kind in ("mcp", "python") and (edit.spec_url or edit.base_url):
        raise InvalidRequest(f"a source of the kind {source.kind} has only its address", hint="change `location`")
    if source.kind == "python" and edit.headers:
        raise InvalidRequest("a Python module takes no headers", hint="leave them out")


def is_file(kind: str, location: str) -> bool:
    return bool(location) and kind != "python" and not is_url(location)


def edit_request(before: SourceRequest, edit: Edit, consented: Consent) -> SourceRequest:
    """`before` reads the source as it is, with the values of its headers."""
    is_elsewhere = edit.location is not None or edit.command is not None
    given = edit.location if edit.location is not None else "" if is_elsewhere else before.location
    command = edit.command if edit.command is not None else () if is_elsewhere else before.command
    request = replace(
        before,
        name=edit.name or before.name,
        location=given,
        document=edit.document,
        command=command,
        spec_url=before.spec_url if edit.spec_url is None else edit.spec_url,
        base_url=before.base_url if edit.base_url is None else edit.base_url,
        options=edit_options(before.options, edit, is_run=bool(command), is_elsewhere=is_elsewhere),
        consented=consented,
        previous=Previous(is_edited=True),
    )
    return replace(request, headers=() if command else edit_pairs(before.headers, edit.headers or {}))


def edit_options(options: Mapping[str, Any], edit: Edit, *, is_run: bool, is_elsewhere: bool) -> dict[str, Any]:
    """`transport`, `env` and `cwd` are those of an MCP server."""
    kept = dict(options)
    if is_elsewhere or edit.transport is not None:
        kept.pop("transport", None)
    if edit.transport:
        kept["transport"] = edit.transport
    if not is_run:
        return {name: value for name, value in kept.items() if name not in ("env", "cwd")}
    changes = {**dict.fromkeys(edit.handed_on or ()), **(edit.environment or {})}
    dropped = {name for name, value in (edit.environment or {}).items() if value is None}
    variables = {**(kept.get("env") or {}), **changes}
    kept["env"] = {name: value for name, value in variables.items() if name not in dropped}
    return kept if edit.directory is None else {**kept, "cwd": edit.directory}


def edit_pairs(pairs: tuple[tuple[str, str], ...], changes: Variables) -> tuple[tuple[str, str], ...]:
    """Names of headers are the same whatever their case."""
    given = {name.lower() for name in changes}
    kept = [pair for pair in pairs if pair[0].lower() not in given]
    return (*kept, *((name, value) for name, value in changes.items() if value is not None))


def without_secrets(request: SourceRequest, edit: Edit) -> tuple[SourceRequest, tuple[str, ...]]:
    """Without the headers that were entered for another place, and their names. People enter them again for this one;
    else the author of an edit would get values sent to themselves that no one can read."""
    given = {name.lower() for name in edit.headers or {}}
    lost = [name for name, _ in request.headers if name.lower() not in given and not PLAIN_HEADER.fullmatch(name)]
    kept = tuple(pair for pair in request.headers if pair[0] not in lost)
    return replace(request, headers=kept), tuple(sorted(lost))


def places_of(*urls: str) -> frozenset[str]:
    """The origins of what is an address."""
    found = set()
    for url in urls:
        try:
            found.add(parse(url).origin)
        except EgressRefused:
            continue
    return frozenset(found)
