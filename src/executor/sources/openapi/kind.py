"""The `openapi` kind: documents from a URL or a file, calls by HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from executor.dataclass import dataclass
from executor.errors import EgressRefused, SourceError, SourceUnreachable
from executor.model.credentials import PLAIN_HEADER, Credential
from executor.model.known_keys import Pair
from executor.model.source import Loaded, Source
from executor.model.tool import Schema, Tool
from executor.network.addresses import display_url, parse
from executor.network.client import ANSWER_BYTES, Answer, Bounds, Egress, MayFollow, Outgoing
from executor.network.credentials import with_credential
from executor.network.files import Kept, Upload
from executor.sources.documents import subprocess as apart
from executor.sources.documents.threads import Loading, in_time
from executor.sources.kind import Meaning, Probe, Unchanged, configured_destination
from executor.sources.lifecycle import address_grants
from executor.sources.openapi.calls import arguments as forms
from executor.sources.openapi.calls.attachments import check_files, with_files
from executor.sources.openapi.calls.media import file_from
from executor.sources.openapi.calls.request import build as build_request
from executor.sources.openapi.calls.request import check_names
from executor.sources.openapi.calls.results import result_text
from executor.sources.openapi.documents import detection, external_documents, parser
from executor.sources.openapi.documents import linked_files as parts
from executor.sources.openapi.documents.document import read_root
from executor.sources.openapi.documents.fetch import PARTS, Fetcher, Read, address_of
from executor.sources.openapi.pagination import all_pages
from executor.sources.openapi.storage_format import binding_of, config_of, server_of
from executor.sources.openapi.tools.builder import READER, build_catalog, digest_of, read_catalog, without_collection
from executor.sources.openapi.tools.credential_parameters import with_bearer
from executor.sources.openapi.tools.servers import origin_of
from executor.sources.rate_limits import send_when_allowed
from executor.sources.results import transport_error
from executor.sources.source_request import Consent, Previous, ReadContext, SourceRequest
from executor.sources.tool_names import namespace_from
from executor.sources.unread import load_unread

__all__ = ["OpenApi", "build_catalog"]
NOTHING: Mapping[str, str] = {}
PROBED_STREAM_SECONDS = 1.0


class OpenApi:
    name = "openapi"
    destination = staticmethod(configured_destination)
    filters = ("tag", "path", "method", "tool")
    calls_stand_alone = True

    def __init__(
        self,
        egress: Egress,
        *,
        load_seconds: float = 180.0,
        call_seconds: float = 60.0,
        stream_seconds: float = 30.0,
        answer_bytes: int = ANSWER_BYTES,
    ) -> None:
        self._egress = egress
        self._load_seconds = load_seconds
        self._loading = Loading()
        self._fetcher = Fetcher(egress, Bounds(min(load_seconds, 60.0), parser.MAX_BYTES), self._loading)
        probing = Bounds(min(load_seconds, 10.0), parser.MAX_BYTES, stream_seconds=PROBED_STREAM_SECONDS)
        self._prober = Fetcher(egress, probing, self._loading)
        self._call_bounds = Bounds(call_seconds, answer_bytes, min(stream_seconds, call_seconds), file_from=file_from)

    async def probe(self, request: SourceRequest) -> Probe | None:
        return await detection.probe(self._prober, await address_grants.grant_addresses(request), self._loading)

    async def load(self, request: SourceRequest) -> Loaded:
        async with in_time(self._load_seconds, address_of(request)):
            request = await address_grants.grant_addresses(request)
            read = await self._fetcher.read(request)
            others = await self._others(request, read)
            if await asyncio.to_thread(is_known, request, read.data, others.contents):
                raise Unchanged
            request.context.progress("indexing operations")
            given = (read.data, read.location, others.contents, others.refused)
            loaded = await apart.build(read_catalog, without_values(request), *given, loading=self._loading)
            server, anywhere = loaded.config["base_url"], self._egress.allow_private
            origins = await address_grants.settle_grants(request, server, anywhere=anywhere)
            headers = [list(pair) for pair in request.headers]
            loaded = replace(loaded, config={**loaded.config, "origins": origins, "headers": headers})
            loaded = replace(loaded, document=read.data, media_type=media_type(read.data))
            return with_validators(loaded, read, others)

    async def pending(self, request: SourceRequest, error: SourceError) -> Loaded:
        """A document that can't be read without a credential is connected without tools."""
        request = await address_grants.grant_addresses(request)
        server = request.base_url or address_of(request)
        origins = await address_grants.settle_grants(request, server, anywhere=self._egress.allow_private)
        namespace = request.namespace or namespace_from("", parse(server).host)
        return load_unread(request, error, namespace, request.base_url, origins)

    async def _others(self, request: SourceRequest, read: Read) -> external_documents.Linked:
        request.context.progress(f"reading {len(read.data):,} bytes")
        if not await self._loading.run(lambda stopped: external_documents.may_leave(read.data)):
            return external_documents.Linked()
        where = display_url(read.location) or "the document"
        root = await self._loading.run(lambda stopped: parse_root(read.data, where))
        return await self._fetcher.others(request, root, read.location)

    def reload_request(self, source: Source) -> SourceRequest:
        config = config_of(source)
        return SourceRequest(
            kind=self.name,
            location=config["location"],
            spec_url=config.get("spec_url", ""),
            namespace=source.namespace,
            name=source.name,
            base_url=config["given_base_url"],
            headers=tuple((name, value) for name, value in config.get("headers", [])),
            options=config.get("options", {}),
            consented=Consent(private_network=config["allow_private"], granted=tuple(config["origins"])),
            previous=Previous(validators=config.get("validators", {})),
        )

    def strict_schema(self, tool: Tool) -> Schema:
        return forms.strict_schema(tool)

    def arrange(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        return forms.arrange(tool, arguments)

    async def check(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> None:
        """Raises ToolError if arguments would be sent under names that are not theirs."""
        arranged = forms.arrange(tool, arguments)
        check_names(binding_of(tool), arranged)
        check_files(tool, arranged)
        await with_files(tool, arguments)

    async def meaning(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Meaning:
        return forms.meaning(tool, arguments)

    async def identity(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Any:
        """The request itself; bodies that are read as values count as these, not as the bytes that write them."""
        binding = binding_of(tool)
        body = binding["body"]
        arranged = forms.arrange(tool, all_pages.first_page(arguments) if "all" in binding else arguments)
        apart = body is not None and body.get("form") != "form"
        rest = {name: value for name, value in arranged.items() if not apart or name != "body"}
        built = build_request(server_of(source, tool), binding, rest, "")
        sent = built.body.decode() if isinstance(built.body, bytes) else arranged.get("body")
        return [built.method, built.url, dict(built.headers), sent]

    async def invoke(
        self,
        source: Source,
        tool: Tool,
        arguments: dict[str, Any],
        idempotency_key: str,
        *,
        credential: Credential | None = None,
        may_follow: MayFollow | None = None,
    ) -> str:
        if "all" in binding_of(tool):
            return await all_pages.collect(Sending(self, credential, may_follow), source, tool, arguments)
        return result_text(tool, await self.send(source, tool, arguments, idempotency_key, credential, may_follow))

    async def send(
        self,
        source: Source,
        tool: Tool,
        arguments: dict[str, Any],
        idempotency_key: str = "",
        credential: Credential | None = None,
        may_follow: MayFollow | None = None,
    ) -> Answer:
        _, fields = with_bearer(binding_of(tool), credential)
        arguments = await with_files(tool, arguments)
        outgoing = request_of(source, tool, arguments, idempotency_key)
        if fields and credential is not None and origin_of(outgoing.url) == credential.origin:
            outgoing = request_of(source, tool, arguments, idempotency_key, fields)
        return await self.dispatch(source, tool, outgoing, credential, may_follow)

    async def outline(self, source: Source, tool: Tool, arguments: dict[str, Any], idempotency_key: str) -> str:
        """A credential that goes into the query is not in it: that is put on when the request is sent."""
        if "all" not in binding_of(tool):
            outgoing = request_of(source, tool, await with_files(tool, arguments), idempotency_key)
            return f"{outgoing.method} {outgoing.url}{files_shown(outgoing)}"
        outgoing = request_of(source, tool, all_pages.first_page(arguments), "")
        return f"{outgoing.method} {outgoing.url}, and the following pages"

    async def dispatch(
        self,
        source: Source,
        tool: Tool,
        outgoing: Outgoing,
        credential: Credential | None = None,
        may_follow: MayFollow | None = None,
    ) -> Answer:
        """Sends a request of the tool. The source's own headers go only to the origin of its base URL; if the document
        has changed that since they were given, no secret of theirs goes anywhere."""
        config = config_of(source)
        headers = config.get("headers")
        if headers and source.known_keys.get("headers_for", "") not in ("", origin_of(outgoing.url)):
            headers = [pair for pair in headers if PLAIN_HEADER.fullmatch(pair[0])]
        if headers and origin_of(outgoing.url) == origin_of(config["base_url"]):
            outgoing = replace(outgoing, headers=with_static(outgoing.headers, headers))
        outgoing = with_credential(outgoing, with_bearer(binding_of(tool), credential)[0])
        send = partial(
            self._egress.send,
            outgoing,
            origins=frozenset(config["origins"]),
            bounds=self._call_bounds,
            may_follow=may_follow,
        )
        try:
            return await send_when_allowed(tool, source.id, send)
        except (SourceUnreachable, EgressRefused) as error:
            raise transport_error(tool, error) from error

    async def close(self) -> None:
        await self._egress.close()


@dataclass(frozen=True, slots=True)
class Sending:
    """The requests of one call of several pages, each with the same credential."""

    kind: OpenApi
    credential: Credential | None
    may_follow: MayFollow | None = None

    async def send(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Answer:
        return await self.kind.send(source, tool, arguments, credential=self.credential, may_follow=self.may_follow)

    async def follow(self, source: Source, tool: Tool, before: str, outgoing: Outgoing) -> Answer:
        """The next page, at an address that the service gave."""
        if self.may_follow is not None:
            try:
                await self.may_follow(replace(outgoing, url=before), outgoing)
            except EgressRefused as error:
                raise transport_error(tool, error) from error
        return await self.kind.dispatch(source, tool, outgoing, self.credential, self.may_follow)


def request_of(
    source: Source, tool: Tool, arguments: dict[str, Any], idempotency_key: str, fields: Mapping[str, str] = NOTHING
) -> Outgoing:
    """`fields` of the form come from a connection."""
    arranged = forms.arrange(tool, arguments)
    if fields:
        arranged = {**arranged, "body": {**(arranged.get("body") or {}), **fields}}
    return build_request(server_of(source, tool), binding_of(tool), arranged, idempotency_key)


def files_shown(outgoing: Outgoing) -> str:
    """For a human who decides: what is sent is what has this digest."""
    parts = outgoing.body.parts if isinstance(outgoing.body, Upload) else ()
    kept = [part for part in parts if isinstance(part, Kept)]
    described = [f"{one.name} ({one.size:,} bytes of {one.media_type}, SHA-256 {one.digest})" for one in kept]
    return f" with the file{'s' if len(described) > 1 else ''} {', '.join(described)}" if described else ""


def without_values(request: SourceRequest) -> SourceRequest:
    """For what only computes, perhaps in another process: it needs no secret."""
    blank = tuple((name, "") for name, _ in request.headers)
    return replace(request, headers=blank, context=ReadContext(request.context.progress))


def parse_root(data: bytes, where: str) -> dict[str, Any]:
    with without_collection():
        return read_root(data, where)


def is_known(request: SourceRequest, data: bytes, others: Mapping[str, bytes]) -> bool:
    known = request.validators
    return known.get("reader") == READER and known.get("digest") == digest_of(data, others)


def media_type(data: bytes) -> str:
    is_json = data[:100].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    return "application/json" if is_json else "application/yaml"


def with_validators(loaded: Loaded, read: Read, others: external_documents.Linked) -> Loaded:
    """An answer of `not modified` says nothing about the other documents, so if there are any, it is not requested."""
    described = {PARTS: parts.fingerprint(others.contents)} if others.contents else read.validators
    config = {**loaded.config, "validators": {**loaded.config["validators"], **described}}
    return replace(loaded, config=config)


def with_static(headers: Any, static: Sequence[Pair]) -> dict[str, str]:
    """The source's headers win over what arguments say; cookies of both are sent."""
    fixed = {name.lower() for name, _ in static}
    merged = {name: value for name, value in headers.items() if name.lower() not in fixed}
    jar = [value for name, value in headers.items() if name.lower() == "cookie"]
    for name, value in static:
        merged[name] = joined_cookies(value, jar) if name.lower() == "cookie" else value
    return merged


def joined_cookies(fixed: str, jar: list[str]) -> str:
    taken = {cookie_name(one) for one in fixed.split(";")}
    return "; ".join(
        [fixed, *(one.strip() for each in jar for one in each.split(";") if cookie_name(one) not in taken)]
    )


def cookie_name(pair: str) -> str:
    return pair.partition("=")[0].strip().lower()
