"""What is at an address? The kinds that it names and OpenAPI look at the same time, the others once a GET has not
explained it. All of them within bounds; the first in order that knows it wins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from executor.errors import (
    DocumentInvalid,
    EgressRefused,
    ExecutorError,
    InvalidRequest,
    SourceError,
    SourceUnreachable,
)
from executor.network.addresses import display_url, parse
from executor.sources.documents.threads import in_time
from executor.sources.first_look import FirstLook
from executor.sources.kind import DAMAGED, Auth, Probe
from executor.sources.lifecycle import address_grants
from executor.sources.lifecycle.consent import STRANGERS_KINDS
from executor.sources.registry import Kinds
from executor.sources.source_request import SourceRequest
from executor.sources.tool_names import namespace_from
from executor.sources.unread import needs_credential

PROBE_SECONDS = 20.0
COMMAND_KIND = "mcp"
LOOKING_KIND = "openapi"  # it GETs the address, and the others wait for what that says
logger = logging.getLogger(__name__)


async def resolve(kinds: Kinds, request: SourceRequest, *, seconds: float = PROBE_SECONDS) -> SourceRequest:
    """The same request with its kind and where it really is. What the document says beyond that is not fixed here."""
    request = await with_kind(kinds, request)
    if request.kind:
        return request
    request = await open_request(request, seconds)
    found = await probe(kinds, request, seconds=seconds)
    if found.warning:
        request.context.progress(f"warning: {found.warning}")
        request.context.warn(found.warning)
        logger.warning("source.substituted", extra={"warning": found.warning})
    return replace(
        request,
        kind=found.kind or LOOKING_KIND,
        undetermined=found.guarded,
        location=found.location or request.location,
        namespace=request.namespace or found.namespace,
        options={**request.options, "transport": "sse"} if found.transport == "sse" else request.options,
    )


async def open_request(request: SourceRequest, seconds: float) -> SourceRequest:
    """With its grants: what probing finds is not what someone asked for, and must open nothing."""
    async with in_time(seconds, request.location):
        return await address_grants.grant_addresses(request)


async def with_kind(kinds: Kinds, request: SourceRequest) -> SourceRequest:
    """The kind as far as the request itself shows: a command, or an address such as `python:package.module`."""
    if request.kind:
        return request
    if request.command:
        return replace(request, kind=COMMAND_KIND)
    prefix, colon, rest = request.location.partition(":")
    if colon and not rest.startswith("//") and prefix in await kinds.names():
        return replace(request, kind=prefix)
    return request


async def probe(kinds: Kinds, request: SourceRequest, *, seconds: float = PROBE_SECONDS) -> Probe:
    """Raises the error that says best why nothing was found."""
    request = await with_kind(kinds, request)
    if request.kind:
        await kinds.get(request.kind)  # one that was asked for by name has to be there
    names = [request.kind] if request.kind else in_order(await kinds.names(), request.location)
    if request.consented.by_stranger:
        names = [name for name in names if name in STRANGERS_KINDS]
    request = await open_request(request, seconds)
    request.context.progress("detecting its kind")
    if LOOKING_KIND in names and len(names) > 1:
        request = replace(request, context=replace(request.context, first_look=FirstLook()))
    tasks = {name: asyncio.create_task(ask(kinds, name, request, seconds)) for name in names}
    refusals: dict[str, ExecutorError | None] = {}
    try:
        for name, task in tasks.items():
            answer = await task
            if isinstance(answer, Probe):
                return answer
            refusals[name] = answer
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    return guarded_probe(request, refusals)


def guarded_probe(request: SourceRequest, refusals: Mapping[str, ExecutorError | None]) -> Probe:
    """There is something, and only a credential shows what. Raises the reason if nothing there asks for one."""
    asked = next((one for one in refusals.values() if isinstance(one, SourceError) and needs_credential(one)), None)
    if asked is None:
        raise unrecognized_error(request, refusals)
    return Probe(
        kind=request.kind,
        location=request.location,
        namespace=request.namespace or namespace_from("", parse(request.base_url or request.location).host),
        base_url=request.base_url,
        auth=tuple(Auth(**one) for one in asked.details["auth"]),
        note=asked.message,
        guarded=True,
    )


def in_order(names: Sequence[str], location: str) -> list[str]:
    """Kinds that the address itself names come first: a host may describe its API beside its `/graphql`."""
    return sorted(names, key=lambda name: not is_named(name, location))


def is_named(kind: str, location: str) -> bool:
    return kind in location.partition("://")[2].partition("/")[2].lower()


async def ask(kinds: Kinds, name: str, request: SourceRequest, seconds: float) -> Probe | ExecutorError | None:
    """Each kind is loaded by its first caller, so that one with a slow library holds up no other. Kinds that the
    address does not name wait for the first look: their libraries are large, and most addresses are documents."""
    found: Probe | None = None
    try:
        async with asyncio.timeout(seconds):
            waits = name != LOOKING_KIND and not is_named(name, request.location)
            if waits and await request.context.find_explanation() == "document":
                return None
            found = await (await kinds.get(name)).probe(request)
            return found
    except TimeoutError:
        where = display_url(request.location) or "the document"
        return SourceUnreachable(
            f"{where} could not be identified within {seconds:g} seconds",
            hint="check that it is up, or pass its `kind`",
            reason="timeout",
        )
    except ExecutorError as error:
        return error
    except Exception:  # a kind may come from any package: what breaks in one must not break the others
        logger.exception("kind.probe_failed", extra={"kind": name})
        return SourceError(f"the kind {name} failed while checking it", hint="see the daemon's log")
    finally:
        if name == LOOKING_KIND and request.context.first_look is not None:
            request.context.first_look.settle("document" if found is not None else "")


def unrecognized_error(request: SourceRequest, refusals: Mapping[str, ExecutorError | None]) -> ExecutorError:
    where = display_url(request.location) or "the document"
    errors = [error for error in refusals.values() if error is not None]
    for error in sorted(errors, key=lambda error: not isinstance(error, EgressRefused)):
        if is_out_of_reach(error) or len(refusals) == 1:
            return error
    if damaged := next((error for error in errors if error.details.get("reason") == DAMAGED), None):
        return damaged
    tried = {name: error.message if error else "not of this kind" for name, error in refusals.items()}
    status = next((error for error in errors if error.details.get("reason") == "status"), None)
    said = f": it answered {status.details['upstream_status']}" if status is not None else ""
    hint = f"tried: {', '.join(refusals)}; use the address of the document or endpoint itself, or pass its `kind`"
    return DocumentInvalid(
        f"nothing to connect was found at {where}{said}",
        hint=f"{status.hint} ({hint})" if status is not None else hint,
        tried=tried,
    )


def is_out_of_reach(error: ExecutorError) -> bool:
    """Then it doesn't matter which kind it would be. A status is an answer."""
    if isinstance(error, SourceUnreachable):
        return error.details.get("reason") not in ("status", "location")
    return isinstance(error, EgressRefused)


def check_shape(request: SourceRequest) -> None:
    if not (request.location or request.command or request.document is not None):
        raise InvalidRequest(
            "a source needs a location, a document or a command",
            hint="pass the address of an API, the text of its document, or the command of an MCP server",
        )
