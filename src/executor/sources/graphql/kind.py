"""The `graphql` kind: schemas by introspection or from a file, calls by HTTP."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial
from typing import Any

import orjson
from graphql import GraphQLSchema

from executor.errors import EgressRefused, SourceError, SourceUnreachable
from executor.model.credentials import Credential
from executor.model.digest import digest
from executor.model.source import Loaded, Source
from executor.model.tool import Schema, Tool
from executor.network.addresses import display_url
from executor.network.client import ANSWER_BYTES, Answer, Bounds, Egress, Outgoing
from executor.network.credentials import with_credential
from executor.sources.documents.threads import Loading
from executor.sources.graphql import detection, loader, raw_documents, refusals
from executor.sources.graphql.pagination import all_pages
from executor.sources.graphql.refusals import Refusal, Refusals, Way
from executor.sources.graphql.request import Body, call_of
from executor.sources.graphql.results import json_of, result_text, says_later
from executor.sources.graphql.storage_format import binding_of, config_of
from executor.sources.kind import Meaning, Probe, configured_destination
from executor.sources.lifecycle import address_grants
from executor.sources.rate_limits import send_when_allowed
from executor.sources.results import transport_error, warn
from executor.sources.source_request import Consent, Previous, SourceRequest
from executor.sources.unread import load_unread

MAX_SCHEMAS = 8
MAX_ROUNDS = 4
CHOOSE = "Choose fields yourself with `select`."
MAX_MEANINGS = 256


class GraphQL:
    """Schemas that documents are checked against are built when first needed, and the last few kept."""

    name = "graphql"
    destination = staticmethod(configured_destination)
    filters = ("method", "tool")

    def __init__(
        self,
        egress: Egress,
        *,
        load_seconds: float = 60.0,
        call_seconds: float = 60.0,
        answer_bytes: int = ANSWER_BYTES,
    ) -> None:
        self._egress = egress
        self._load_bounds = Bounds(load_seconds, loader.MAX_BYTES)
        self._call_bounds = Bounds(call_seconds, answer_bytes)
        self._loading = Loading()
        self._schemas: OrderedDict[str, asyncio.Future[GraphQLSchema]] = OrderedDict()
        self._refusals = Refusals()
        self._sizes = all_pages.PageSizes()
        self._meanings: OrderedDict[tuple[str, str, str], Meaning] = OrderedDict()

    async def probe(self, request: SourceRequest) -> Probe | None:
        request = await address_grants.grant_addresses(request)
        return await detection.probe(self._egress, request, frozenset(request.consented.origins))

    async def load(self, request: SourceRequest) -> Loaded:
        return await loader.load(self._egress, request, self._load_bounds, self._loading)

    async def pending(self, request: SourceRequest, error: SourceError) -> Loaded:
        """A service that shows its schema only to those it knows is connected without tools."""
        request = await address_grants.grant_addresses(request)
        endpoint = loader.endpoint_of(request)
        origins = await address_grants.settle_grants(request, endpoint, anywhere=self._egress.allow_private)
        namespace = request.namespace or detection.namespace_of(endpoint, detection.file_of(request))
        return load_unread(request, error, namespace, endpoint, origins)

    def reload_request(self, source: Source) -> SourceRequest:
        config = config_of(source)
        return SourceRequest(
            kind=self.name,
            location=config["location"],
            namespace=source.namespace,
            name=source.name,
            base_url=config["given_base_url"],
            spec_url=config["spec_url"],
            headers=tuple((name, value) for name, value in config["headers"]),
            options=config["options"],
            consented=Consent(private_network=config["allow_private"], granted=tuple(config["origins"])),
            previous=Previous(validators=config["validators"]),
        )

    def strict_schema(self, tool: Tool) -> Schema:
        return tool.input_schema

    def arrange(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        """Nothing is rearranged; but what can't be sent, whatever the schema says, is refused already here."""
        name = document_argument(tool, arguments)
        if isinstance(arguments.get(name), str):
            if binding_of(tool)["type"] == "raw":
                raw_documents.classify(tool, arguments)
            else:
                raw_documents.selection_of(tool, arguments[name])
        return arguments

    async def check(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> None:
        """Raises ToolError if the schema refuses the document that these arguments make. Sends nothing."""
        if document_argument(tool, arguments):
            await self._body(source, tool, arguments)

    async def meaning(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Meaning:
        """With the fields of the root types that the caller's own GraphQL selects: policies apply to them as well."""
        name = document_argument(tool, arguments)
        if not name:
            return Meaning(arguments)
        key = (source.document_digest or source.id, tool.path, digest(arguments))
        known = self._meanings.get(key)
        if known is None:
            schema = await self._schema(source)
            known = Meaning(arguments, await asyncio.to_thread(raw_documents.parts_of, tool, arguments, schema))
            self._meanings[key] = known
            while len(self._meanings) > MAX_MEANINGS:
                self._meanings.popitem(last=False)
        return known

    async def identity(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Any:
        """Of a mutation, what it does and not what it gives back: its field and the arguments."""
        parts = [part for part in (await self.meaning(source, tool, arguments)).parts if part.effect != "read"]
        binding = binding_of(tool)
        if binding["type"] == "mutation":
            given = {name: value for name, value in arguments.items() if name != binding["select"]}
            return [binding["operation"], given]
        if binding["type"] == "raw" and len(parts) == 1:
            return [parts[0].operation, parts[0].arguments]
        return [tool.path, arguments]

    async def invoke(
        self,
        source: Source,
        tool: Tool,
        arguments: dict[str, Any],
        idempotency_key: str,
        *,
        credential: Credential | None = None,
    ) -> str:
        if binding_of(tool)["type"] == "describe":
            return await self._describe(source, tool, arguments["name"])
        if "all" in binding_of(tool):
            ask = partial(self._answer, source, tool, credential)
            return await all_pages.collect(ask, source.id, tool, arguments, self._sizes)
        return (await self._answer(source, tool, credential, arguments))[1]

    async def _answer(
        self, source: Source, tool: Tool, credential: Credential | None, arguments: dict[str, Any]
    ) -> tuple[Answer, str]:
        """As it came, and the JSON text of its result."""
        if not document_argument(tool, arguments) and binding_of(tool)["selection"]:
            return await self._call(source, tool, arguments, credential)
        answer = await self._send(source, tool, await self._body(source, tool, arguments), credential)
        return answer, result_text(tool, answer)

    async def _send(self, source: Source, tool: Tool, body: Body, credential: Credential | None) -> Answer:
        config = config_of(source)
        headers = detection.headers_of(tuple((name, value) for name, value in config["headers"]))
        outgoing = with_credential(Outgoing("POST", config["base_url"], headers, body.encode()), credential)
        origins = frozenset(config["origins"])
        send = partial(self._egress.send, outgoing, origins=origins, bounds=self._call_bounds)
        try:
            return await send_when_allowed(tool, source.id, send, says_later)
        except (SourceUnreachable, EgressRefused) as error:
            raise transport_error(tool, error) from error

    async def _call(
        self, source: Source, tool: Tool, arguments: dict[str, Any], credential: Credential | None
    ) -> tuple[Answer, str]:
        """Of fields that no one chose: a query that is refused some of them asks again without these."""
        key = (source.id, credential.digest if credential else "", tool.path, tool.schema_digest)
        whole, left_out = binding_of(tool)["selection"], self._refusals.of(key)
        for _ in range(MAX_ROUNDS):
            body = call_of(tool, arguments, refusals.without(whole, left_out) if left_out else whole)
            answer = await self._send(source, tool, body, credential)
            refusal = refusal_in(answer, body)
            if refusal is None:
                break
            if refusal.is_lasting:
                self._refusals.remember(key, refusal.ways)
            if binding_of(tool)["type"] == "mutation":
                return answer, self._done(tool, answer, refusal, left_out)
            left_out |= refusal.ways
            if not refusals.without(whole, left_out):
                break
        text = result_text(tool, answer)
        if left_out:
            warn(
                f"{tool.path}: the service refuses {refusals.describe_ways(left_out)}, so the result does "
                f"not include it. {CHOOSE}"
            )
        return answer, text

    def _done(self, tool: Tool, answer: Answer, refusal: Refusal, left_out: frozenset[Way]) -> str:
        """A mutation is never sent again. What came counts, unless it was refused before it was run."""
        data = json_of(answer).get("data")
        value = data.get(binding_of(tool)["field"]) if isinstance(data, dict) else None
        if value is None and not refusal.was_run:
            return result_text(tool, answer)
        missing = refusals.describe_ways(refusal.ways | left_out)
        state = "null or missing in the result" if value is not None else "so the result could not be read"
        warn(f"{tool.path} took effect, but the service refuses {missing}: {state}. {CHOOSE}")
        return orjson.dumps(value).decode()

    async def outline(self, source: Source, tool: Tool, arguments: dict[str, Any], idempotency_key: str) -> str:
        binding = binding_of(tool)
        if binding["type"] == "describe":
            return "nothing is sent: Executor has the schema"
        where = f"POST {display_url(config_of(source)['base_url'])}"
        if binding["type"] == "raw":
            return f"{where} the document in `query`"
        pages = ", and the following pages" if "all" in binding else ""
        return f"{where} {binding['type']} {binding['field']}{pages}"

    async def close(self) -> None:
        self._schemas.clear()
        await self._egress.close()

    async def _body(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Body:
        """What callers write is parsed and checked in a thread: it may be long."""
        if not document_argument(tool, arguments):
            return call_of(tool, arguments, binding_of(tool)["selection"])
        schema = await self._schema(source)
        make = raw_documents.raw if binding_of(tool)["type"] == "raw" else raw_documents.select_fields
        return await asyncio.to_thread(make, tool, arguments, schema)

    async def _describe(self, source: Source, tool: Tool, name: str) -> str:
        schema = await self._schema(source)
        return orjson.dumps(raw_documents.description_of(tool, schema, name)).decode()

    async def _schema(self, source: Source) -> GraphQLSchema:
        """Made in a thread, once for all who wait."""
        key = source.document_digest or source.id
        if key not in self._schemas or has_failed(self._schemas[key]):
            making = asyncio.to_thread(loader.stored_schema, config_of(source)["schema"])
            self._schemas[key] = asyncio.ensure_future(making)
        self._schemas.move_to_end(key)
        while len(self._schemas) > MAX_SCHEMAS:
            self._schemas.popitem(last=False)
        return await asyncio.shield(self._schemas[key])


def document_argument(tool: Tool, arguments: dict[str, Any]) -> str:
    """Which argument holds GraphQL that the caller wrote, if any does."""
    binding = binding_of(tool)
    if binding["type"] == "raw":
        return "query"
    choosing = binding.get("select", "")
    return choosing if choosing in arguments else ""


def refusal_in(answer: Answer, body: Body) -> Refusal | None:
    """None if the answer has no errors, or others than about fields. Some speak of the whole request."""
    value = json_of(answer) if answer.status < 500 and answer.status not in (401, 429) else None
    errors = value.get("errors") if isinstance(value, dict) else None
    return refusals.refusal_of(errors, body.query) if errors else None


def has_failed(future: asyncio.Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
