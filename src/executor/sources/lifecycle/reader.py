"""How a source is read: with which credential, and without any echo of it in what is kept or shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

import orjson

from executor.connections.connections import Connections
from executor.connections.source_headers import values_of
from executor.errors import SourceError
from executor.model.credentials import Credential
from executor.model.source import Loaded, Source
from executor.secrets.redaction import redact
from executor.sources.kind import Kind
from executor.sources.lifecycle import namespaces
from executor.sources.source_request import Previous, SourceRequest
from executor.sources.tool_names import poses_as_executor
from executor.sources.unread import needs_credential


@runtime_checkable
class Pending(Protocol):
    """What a kind has besides if a source of it can be connected before it can be read."""

    async def pending(self, request: SourceRequest, error: SourceError) -> Loaded | None: ...


async def first(kind: Kind, request: SourceRequest) -> tuple[Loaded, str]:
    """What was read; or, of a source that wants a credential first, what is known without one and why."""
    namespaces.check_name(request.name)
    request = redacting(request, values_of({"headers": request.headers}))
    try:
        return own_named(await kind.load(request)), ""
    except SourceError as raised:
        error = redact_error(raised, request)
        can_wait = needs_credential(error) and request.context.credential is None and not request.consented.by_stranger
        loaded = await kind.pending(request, error) if can_wait and isinstance(kind, Pending) else None
        if loaded is None:
            raise error from raised
        return loaded, error.message


def own_named(loaded: Loaded) -> Loaded:
    """A document whose title poses as Executor is called by its namespace."""
    return replace(loaded, name=loaded.namespace) if poses_as_executor(loaded.name) else loaded


async def again(kind: Kind, source: Source, connections: Connections | None) -> SourceRequest:
    if connections is None:
        return kind.reload_request(source)
    opened, values = await connections.unseal(source)
    credential = await connections.for_reading(source)
    request = with_credential(kind.reload_request(opened), credential)
    if source.known_keys.get("unread") and source.name == source.namespace:
        request = replace(request, name="")  # no one gave it this name: it may say a better one now
    return redacting(request, (*values, *(credential.values if credential is not None else ())))


def with_credential(request: SourceRequest, credential: Credential | None) -> SourceRequest:
    return replace(request, context=replace(request.context, credential=credential))


def without_validators(request: SourceRequest) -> SourceRequest:
    """So that it is read whether it has changed or not."""
    return replace(request, previous=replace(request.previous or Previous(), validators={}))


def redacting(request: SourceRequest, values: tuple[str, ...]) -> SourceRequest:
    """Bytes that are no UTF-8 stay as they are: each is one character here."""
    before = request.context.redact

    def clean(content: bytes) -> bytes:
        content = before(content)
        text = content.decode("latin-1")
        cleaned = redact(text, tuple(value.encode().decode("latin-1") for value in values))
        return content if cleaned is text else cleaned.encode("latin-1")

    return replace(request, context=replace(request.context, redact=clean)) if values else request


def redact_error(error: SourceError, request: SourceRequest) -> SourceError:
    def clean(text: str) -> str:
        return request.context.redact(text.encode()).decode("utf-8", "replace")

    details = orjson.loads(request.context.redact(orjson.dumps(error.details, default=str)))
    return type(error)(clean(error.message), hint=clean(error.hint), **details)
