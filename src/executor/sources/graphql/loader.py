"""A schema fetched from a service or a file, and made into tools."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from functools import partial
from typing import Any

import orjson
from graphql import GraphQLSchema

from executor.errors import DocumentInvalid, SourceUnreachable
from executor.model.digest import canonical, digest_text
from executor.model.source import Loaded
from executor.model.tool import Skipped
from executor.network.addresses import display_url, parse
from executor.network.client import Answer, Bounds, Egress, Outgoing
from executor.network.credentials import with_credential
from executor.network.error_reasons import one_line
from executor.schemas.alternatives import loosen
from executor.schemas.digests import with_digests
from executor.sources.documents.fetch_errors import no_address, read_file, wrong_status
from executor.sources.documents.threads import Loading, Stopped, in_time, never
from executor.sources.graphql.detection import file_of, headers_of, is_document, login_error, namespace_of
from executor.sources.graphql.results import json_of
from executor.sources.graphql.schema import introspection, sdl
from executor.sources.graphql.schema.builder import schema_of
from executor.sources.graphql.schema.outline import Outline, drop_missing_types, pack, unpack
from executor.sources.graphql.storage_format import GraphQLConfig
from executor.sources.graphql.tools import Reader
from executor.sources.kind import Unchanged
from executor.sources.lifecycle import address_grants
from executor.sources.source_request import SourceRequest

MAX_BYTES = 64_000_000
MAX_SKIPPED = 500
FORMAT = "2"  # raise it when more or other is kept of the same schema than before: then every source is read again
GIVE_SCHEMA = "add its schema instead, as a document, with the endpoint as `baseUrl`"
STATUS_HINTS = {404: "check the address; it is often /graphql"}
_WANTS_LOGIN = re.compile(
    r"authenticat|authori[sz]|log ?in|access denied|(access|bearer|api).?(token|key)", re.IGNORECASE
)
GIVE_ENDPOINT = "pass the address of the service as `baseUrl`, for example https://api.example.com/graphql"


async def load(egress: Egress, request: SourceRequest, bounds: Bounds, loading: Loading) -> Loaded:
    async with in_time(bounds.seconds, request.spec_url or request.location):
        request = await address_grants.grant_addresses(request)
        endpoint = endpoint_of(request)
        granted = await address_grants.settle_grants(request, endpoint, anywhere=egress.allow_private)
        origins = frozenset(granted)
        data = await read_document(egress, request, origins, bounds)
        if data is None:
            request.context.progress(f"asking {display_url(endpoint)} for its schema")
            data = await introspect(egress, request, endpoint, origins, bounds)
        return await loading.run(partial(build_catalog, request, data, endpoint, granted))


def endpoint_of(request: SourceRequest) -> str:
    has_document = request.document is not None or "://" not in request.location or is_document(request.location)
    endpoint = request.base_url or ("" if has_document else request.location)
    if not endpoint:
        raise DocumentInvalid("a GraphQL schema doesn't say where its service is", hint=GIVE_ENDPOINT)
    return parse(endpoint).url


async def read_document(
    egress: Egress, request: SourceRequest, origins: frozenset[str], bounds: Bounds
) -> bytes | None:
    """The schema file, if there is one; None if the service itself is to be asked."""
    if request.document is not None:
        return request.document
    address = request.spec_url or (request.location if is_document(request.location) else "")
    if "://" in address:
        return await download(egress, request, address, origins, bounds)
    if "://" in request.location:
        return None
    if not (request.previous is not None and request.consented.private_network):
        raise no_address(request.location)
    return await asyncio.to_thread(read_file, request.location, MAX_BYTES)


async def download(
    egress: Egress, request: SourceRequest, address: str, origins: frozenset[str], bounds: Bounds
) -> bytes:
    """The source's headers are for its service: they go along only to the same origin."""
    same = parse(address).origin == parse(request.base_url or request.location).origin
    headers = {"Accept": "*/*", **(dict(request.headers) if same else {})}
    outgoing = with_credential(Outgoing("GET", address, headers), request.context.credential)
    answer = await egress.send(outgoing, origins=origins, bounds=bounds)
    if answer.status != 200:
        raise wrong_status(address, answer, STATUS_HINTS)
    return request.context.redact(answer.body)


async def introspect(
    egress: Egress, request: SourceRequest, endpoint: str, origins: frozenset[str], bounds: Bounds
) -> bytes:
    """Sent twice if need be: a service that rejects a modern query may answer an old one."""
    for modern in (True, False):
        body = orjson.dumps({"query": introspection.introspection_query(modern=modern)})
        outgoing = with_credential(
            Outgoing("POST", endpoint, headers_of(request.headers), body), request.context.credential
        )
        answer = await egress.send(outgoing, origins=origins, bounds=bounds)
        answer = replace(answer, body=request.context.redact(answer.body))
        value = json_of(answer)
        data = value.get("data") if isinstance(value, dict) else None
        if isinstance(data, dict) and isinstance(data.get("__schema"), dict):
            return answer.body
        if answer.status in (401, 403, 404, 429) or not (isinstance(value, dict) and value.get("errors")):
            break
    raise no_introspection(endpoint, answer, value)


def no_introspection(endpoint: str, answer: Answer, value: Any) -> SourceUnreachable | DocumentInvalid:
    errors = value.get("errors") if isinstance(value, dict) else None
    if answer.status >= 300 and not (errors and answer.status == 400):
        return wrong_status(endpoint, answer, STATUS_HINTS, method="POST")
    if not errors:
        what = "contains no schema" if isinstance(value, dict) else "is not JSON"
        return DocumentInvalid(
            f"{display_url(endpoint)} is not a GraphQL endpoint: its answer to an introspection {what}",
            hint="check the address; it is often /graphql",
        )
    first = errors[0] if isinstance(errors, list) else errors
    said = str(first.get("message") if isinstance(first, dict) else first)
    said = one_line(said, 200)
    message = f"{display_url(endpoint)} does not allow introspection: {said}"
    if not _WANTS_LOGIN.search(said):
        return DocumentInvalid(message, hint=GIVE_SCHEMA)
    asked = login_error(endpoint, answer)
    return SourceUnreachable(message, hint=f"{asked.hint}, or {GIVE_SCHEMA}", **asked.details)


def build_catalog(
    request: SourceRequest, data: bytes, endpoint: str, origins: list[str], stopped: Stopped = never
) -> Loaded:
    """CPU only: runs in a thread, beside running executions."""
    where = display_url(request.location or endpoint)
    notes: list[tuple[str, str]] = []
    outline, digest = outline_of(data, where, notes)
    if request.validators.get("digest") == digest:
        raise Unchanged
    outline = drop_missing_types(outline, notes)
    namespace = request.namespace or namespace_of(endpoint, file_of(request))
    reader = Reader(outline, namespace, request.names, stopped)
    tools = reader.tools(raw=request.options.get("raw", True) is not False)
    if not tools:
        raise no_operations(where, notes)
    request.context.progress(f"{len(tools)} tools")
    definitions = reader.definitions(tools)
    opened = loosen(tools, definitions)
    config: GraphQLConfig = {
        "location": request.location,
        "base_url": endpoint,
        "transport": "http",
        "given_base_url": request.base_url,
        "spec_url": request.spec_url,
        "headers": [list(pair) for pair in request.headers],
        "options": dict(request.options),
        "allow_private": request.consented.private_network,
        "origins": origins,
        "validators": {"digest": digest},
        "schema": pack(outline),
    }
    return Loaded(
        name=request.name or namespace,
        namespace=namespace,
        tools=with_digests(tools, definitions),
        definitions=definitions,
        skipped=(*reader.skipped, *left_out(notes), *opened),
        document_digest=digest,
        config={**config},
        document=data,
        media_type="application/json" if is_json(data) else "application/graphql",
    )


def is_json(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def left_out(notes: list[tuple[str, str]]) -> list[Skipped]:
    found = [Skipped(where, reason) for where, reason in notes[:MAX_SKIPPED]]
    if len(notes) > MAX_SKIPPED:
        found.append(Skipped("…", f"{len(notes) - MAX_SKIPPED} more parts of the schema can't be used"))
    return found


def no_operations(where: str, notes: list[tuple[str, str]]) -> DocumentInvalid:
    if notes:
        hint = f"first reason: {notes[0][0]}: {notes[0][1]}"
        return DocumentInvalid(f"nothing in the schema of {where} can be used", hint=hint)
    hint = "its query and mutation types have no fields; check that it is the right schema"
    return DocumentInvalid(f"the schema of {where} has no queries or mutations", hint=hint)


def outline_of(data: bytes, where: str, notes: list[tuple[str, str]]) -> tuple[Outline, str]:
    """Also a digest that stays when only the order of types changed."""
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise DocumentInvalid(f"{where} is empty", hint="check the file or the address")
    if text[:1] in b"{[":
        schema = read_introspection(text, where)
        return introspection.read(schema, where, notes), digest_text(FORMAT.encode() + canonical(order_schema(schema)))
    if text[:1] == b"<":
        raise DocumentInvalid(f"{where} is an HTML page, not a schema", hint="use the address of the schema itself")
    return sdl.read(text.decode("utf-8", "replace"), where), digest_text(FORMAT.encode() + text)


def read_introspection(text: bytes, where: str) -> Any:
    """The `__schema` of an introspection, with or without the `data` around it."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DocumentInvalid(f"{where} can't be read as JSON: {error}", hint="check that it is complete") from error
    value = value.get("data", value) if isinstance(value, dict) else None
    schema = value.get("__schema") if isinstance(value, dict) else None
    if not isinstance(schema, dict):
        raise DocumentInvalid(
            f"{where} is JSON, but not an introspection of a GraphQL schema", hint="it must contain `__schema`"
        )
    return schema


def order_schema(schema: dict[str, Any]) -> dict[str, Any]:
    types = schema.get("types")
    if not isinstance(types, list):
        return schema
    return {**schema, "types": sorted(types, key=lambda one: str(one.get("name") if isinstance(one, dict) else one))}


def stored_schema(packed: str) -> GraphQLSchema:
    return schema_of(unpack(packed))
