"""The `openapi` kind: documents from a URL or a file, calls by HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from executor.errors import DocumentInvalid, EgressRefused, SourceUnreachable
from executor.model.digest import digest_text
from executor.model.source import Loaded, Source
from executor.model.tool import Schema, Tool
from executor.sources import grants
from executor.sources.addresses import shown
from executor.sources.digests import with_digests
from executor.sources.egress import Bounds, Egress, Outgoing
from executor.sources.kind import SourceRequest
from executor.sources.loading import Loading, in_time
from executor.sources.openapi import arguments as forms
from executor.sources.openapi import document as documents
from executor.sources.openapi import names, servers
from executor.sources.openapi.loosen import loosen
from executor.sources.openapi.operations import Reader
from executor.sources.openapi.request import build
from executor.sources.openapi.results import result_text, transport_error
from executor.sources.openapi.visits import Visits

ACCEPT_DOCUMENT = "application/json, application/yaml;q=0.9, text/yaml;q=0.9, */*;q=0.5"


class OpenApi:
    name = "openapi"

    def __init__(
        self, egress: Egress, *, load_seconds: float = 60.0, call_seconds: float = 60.0, answer_bytes: int = 10_000_000
    ) -> None:
        self._egress = egress
        self._load_bounds = Bounds(load_seconds, documents.MAX_BYTES)
        self._call_bounds = Bounds(call_seconds, answer_bytes)
        self._loading = Loading()

    async def load(self, request: SourceRequest) -> Loaded:
        async with in_time(self._load_bounds.seconds, request.location):
            request = await grants.opened(request)
            data, location = await self._read(request)
            loaded = await self._loading.run(
                lambda stopped: build_catalog(request, data, location, Visits(len(data), stopped))
            )
            server, anywhere = loaded.config["base_url"], self._egress.allow_private
            origins = await grants.settled(request, server, anywhere=anywhere)
            return replace(loaded, config={**loaded.config, "origins": origins})

    def reload_request(self, source: Source) -> SourceRequest:
        config = source.config
        return SourceRequest(
            kind=self.name,
            location=config["location"],
            namespace=source.namespace,
            name=source.name,
            base_url=config["given_base_url"],
            allow_private=config["allow_private"],
            again=True,
            origins=tuple(config["origins"]),
        )

    def strict_schema(self, tool: Tool) -> Schema:
        return forms.strict_schema(tool)

    def arrange(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        return forms.arrange(tool, arguments)

    async def invoke(self, source: Source, tool: Tool, arguments: dict[str, Any], idempotency_key: str) -> str:
        base_url = tool.binding["server"] or source.config["base_url"]
        outgoing = build(base_url, tool.binding, forms.arrange(tool, arguments), idempotency_key)
        origins = frozenset(source.config["origins"])
        try:
            answer = await self._egress.send(outgoing, origins=origins, bounds=self._call_bounds)
        except (SourceUnreachable, EgressRefused) as error:
            raise transport_error(tool, error) from error
        return result_text(tool, answer)

    async def close(self) -> None:
        await self._egress.close()

    async def _read(self, request: SourceRequest) -> tuple[bytes, str]:
        """The document and where it came from in the end: relative servers are relative to that."""
        if request.document is not None:
            return request.document, request.location
        if not request.location:
            raise SourceUnreachable(
                "there is neither an address nor a document to read",
                hint="give a URL or a file; a source added as text can only be added again",
                reason="location",
            )
        if "://" in request.location:
            return await self._download(request)
        if not (request.again and request.allow_private):
            raise EgressRefused(
                f"{request.location[:200]!r} is no http:// or https:// address",
                hint="give a full address, or send the file's content as `document` (`executor sources add FILE` does)",
            )
        return await asyncio.to_thread(read_file, request.location), request.location

    async def _download(self, request: SourceRequest) -> tuple[bytes, str]:
        origins = frozenset(request.origins)
        outgoing = Outgoing("GET", request.location, {"Accept": ACCEPT_DOCUMENT})
        answer = await self._egress.send(outgoing, origins=origins, bounds=self._load_bounds)
        if answer.status != 200:
            raise SourceUnreachable(
                f"{shown(request.location)} answered {answer.status}",
                hint=STATUS_HINTS.get(answer.status, "check the address, then try again"),
                reason="status",
                upstream_status=answer.status,
            )
        return answer.body, answer.url


STATUS_HINTS = {
    401: "the document needs a login: download it and add the file instead",
    403: "the document needs a login: download it and add the file instead",
    404: documents.GIVE_DOCUMENT,
}


def read_file(location: str) -> bytes:
    path = Path(location)
    if not path.is_absolute():
        raise SourceUnreachable(
            f"{location[:200]!r} was read from an unknown directory", hint="add the source again", reason="file"
        )
    try:
        if path.stat().st_size > documents.MAX_BYTES:
            raise DocumentInvalid(f"{path} is larger than {documents.MAX_BYTES:,} bytes", hint="remove what isn't used")
        return path.read_bytes()
    except OSError as error:
        raise SourceUnreachable(
            f"{path} can't be read: {error.strerror}", hint="check the path, or add the source again", reason="file"
        ) from error


def build_catalog(request: SourceRequest, data: bytes, location: str, visits: Visits | None = None) -> Loaded:
    """CPU only: runs in a thread, beside running executions. Each tool keeps its server: it is approved with it."""
    where = shown(location) or "the document"
    document = documents.read(data, where, visits)
    info = document.root.get("info")
    title = str(info.get("title") or "") if isinstance(info, dict) else ""
    server = servers.base_url(document.root.get("servers"), given=request.base_url, location=location)
    namespace = request.namespace or names.namespace_from(title, urlsplit(server).hostname or "")
    reader = Reader(document, namespace=namespace, location=location, given_base_url=request.base_url)
    tools = [
        replace(tool, binding={**tool.binding, "server": tool.binding["server"] or server}) for tool in reader.tools()
    ]
    if not tools:
        raise no_operations(where, reader)
    opened = loosen(tools, reader.schemas.definitions)
    return Loaded(
        name=request.name or title[:200] or namespace,
        namespace=namespace,
        tools=with_digests(tools, reader.schemas.definitions),
        definitions=reader.schemas.definitions,
        skipped=(*reader.skipped, *opened),
        document_digest=digest_text(data),
        config={
            "location": request.location,
            "base_url": server,
            "given_base_url": request.base_url,
            "allow_private": request.allow_private,
            "origins": list(request.origins),
        },
    )


def no_operations(where: str, reader: Reader) -> DocumentInvalid:
    skipped = [{"where": one.where, "reason": one.reason} for one in reader.skipped[:20]]
    if skipped:
        message = f"none of the {len(reader.skipped)} operations of {where} can be used"
        return DocumentInvalid(message, hint=f"first reason: {skipped[0]['reason']}", skipped=skipped)
    return DocumentInvalid(
        f"{where} has no operations", hint="its `paths` are empty; check that it is the right document"
    )
