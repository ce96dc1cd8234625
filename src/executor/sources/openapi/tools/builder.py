"""From a document to everything the catalog keeps of it. CPU only: runs in a thread, beside running executions."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from executor.errors import DocumentInvalid
from executor.model.digest import digest_text
from executor.model.source import Loaded
from executor.model.tool import Skipped
from executor.network.addresses import display_url
from executor.schemas.alternatives import loosen
from executor.schemas.digests import add_digests
from executor.sources.documents.cancellation import Stopped, never
from executor.sources.openapi.documents import containers, swagger
from executor.sources.openapi.documents import document as documents
from executor.sources.openapi.documents.external_documents import BEYOND, Linked, absolute, base_of
from executor.sources.openapi.documents.parser import parse
from executor.sources.openapi.documents.walk_budget import Visits
from executor.sources.openapi.storage_format import OpenApiConfig, binding_of
from executor.sources.openapi.tools import servers
from executor.sources.openapi.tools.credential_parameters import find_undeclared
from executor.sources.openapi.tools.operations import Reader
from executor.sources.source_request import SourceRequest
from executor.sources.tool_names import namespace_from

# Raised when more or other is kept of the same document than before: then one that is unchanged is read again.
READER = "8"
NOTHING: Mapping[str, bytes] = {}
NO_REASONS: Mapping[str, str] = {}
BUNDLE = "bundle them into one file with `npx @redocly/cli bundle FILE -o bundled.yaml`, then add it"
_building = threading.Lock()
_builds = 0
_was_enabled = True


@contextmanager
def without_collection() -> Iterator[None]:
    """A build makes millions of objects and no cycles: looking for those would take a quarter of its time."""
    global _builds, _was_enabled
    with _building:
        if _builds == 0:
            _was_enabled = gc.isenabled()
        _builds += 1
        gc.disable()
    try:
        yield
    finally:
        with _building:
            _builds -= 1
            if _builds == 0 and _was_enabled:
                gc.enable()


def build_catalog(
    request: SourceRequest,
    data: bytes,
    location: str,
    others: Mapping[str, bytes] = NOTHING,
    refused: Mapping[str, str] = NO_REASONS,
    stopped: Stopped = never,
) -> Loaded:
    with without_collection():
        return add_digests(read_catalog(request, data, location, others, refused, stopped))


def read_catalog(
    request: SourceRequest,
    data: bytes,
    location: str,
    others: Mapping[str, bytes] = NOTHING,
    refused: Mapping[str, str] = NO_REASONS,
    stopped: Stopped = never,
) -> Loaded:
    """Without the digests of tools: anyone who makes rows of them needs the same text, and then has them on the way.

    `others` are the documents that this one refers to, by address; `refused` says why some are missing.
    """
    with without_collection():
        root = documents.read_root(data, display_url(location) or "the document")
        linked = Linked(refused=dict(refused), contents=dict(others))
        if others or refused:
            absolute(root, base_of(location), is_root=True)
        for uri, content in others.items():
            linked.documents[uri] = value = parse(content, display_url(uri))
            absolute(value, uri)
        visits = Visits(len(data) + sum(map(len, others.values())), stopped)
        document = documents.Document(root, linked.documents, linked.refused, visits)
        if any(map(containers.may_have, (data, *others.values()))):
            containers.fill(document, (root, *linked.documents.values()))
        return build(request, document, location, digest_of(data, others))


def digest_of(data: bytes, others: Mapping[str, bytes]) -> str:
    own = digest_text(data)
    if not others:
        return own
    return digest_text("".join([own, *(f"{uri} {digest_text(others[uri])}" for uri in sorted(others))]))


def build(request: SourceRequest, document: documents.Document, location: str, digest: str) -> Loaded:
    """Each tool keeps its server: it is approved with it. Whether that may be reached is for anyone who sends to it."""
    root = document.root
    where = display_url(location) or "the document"
    offered = swagger.servers(root) if document.is_swagger else root.get("servers")
    server = servers.base_url(offered, given=request.base_url, location=location, options=request.options)
    title = title_of(root)
    namespace = request.namespace or namespace_from(title, urlsplit(server).hostname or "")
    reader = Reader(
        document,
        namespace=namespace,
        location=location,
        server=server,
        query=servers.fixed_query(offered, given=request.base_url, location=location, options=request.options),
        given_base_url=request.base_url,
        options=request.options,
        known=request.names,
        fixed=(name for name, _ in request.headers),
    )
    tools = reader.tools()
    if not tools and not reader.skipped:
        reader.skipped.extend(hooks(root))
    elif not tools:
        raise no_operations(where, reader)
    if not reader.skipped and not tools:
        raise no_operations(where, reader)
    opened = loosen(tools, reader.schemas.definitions)
    config: OpenApiConfig = {
        "location": request.location,
        "spec_url": request.spec_url,
        "base_url": server,
        "given_base_url": request.base_url,
        "allow_private": request.consented.private_network,
        "origins": list(request.consented.origins),
        "headers": [list(pair) for pair in request.headers],
        "options": dict(request.options),
        "servers": servers.list_servers(offered),
        "auth": [*reader.schemes, *find_undeclared(map(binding_of, tools), reader.schemes)],
        "validators": {"digest": digest, "reader": READER},
    }
    return Loaded(
        name=request.name or title[:200] or namespace,
        namespace=namespace,
        tools=tuple(tools),
        definitions=reader.schemas.definitions,
        skipped=(*gather_skipped(reader.skipped), *opened),
        document_digest=digest,
        config={**config},
    )


def gather_skipped(skipped: list[Skipped]) -> Iterator[Skipped]:
    """What was left out because a bound was reached has one reason and one remedy, so it is said once."""
    beyond = [one for one in skipped if BEYOND in one.reason]
    yield from (one for one in skipped if BEYOND not in one.reason)
    if beyond:
        count, first = f"{len(beyond):,} parts", beyond[0].where
        yield Skipped(count if len(beyond) > 1 else first, f"a file it refers to {BEYOND}; {BUNDLE}")


def title_of(root: dict[str, Any]) -> str:
    info = root.get("info")
    title = info.get("title") if isinstance(info, dict) else None
    return " ".join(str(title).split()) if title is not None else ""


def hooks(root: dict[str, Any]) -> Iterator[Skipped]:
    """A document may describe only what the service sends; then there is nothing to call, and that is all right."""
    found = root.get("webhooks")
    for name in found if isinstance(found, dict) else ():
        yield Skipped(f"webhook {documents.key_text(name)[:200]}", "webhooks are sent by the service, not called")


def no_operations(where: str, reader: Reader) -> DocumentInvalid:
    skipped = [{"where": one.where, "reason": one.reason} for one in [*gather_skipped(reader.skipped)][:20]]
    if skipped:
        message = f"none of the {len(reader.skipped)} operations of {where} can be used"
        return DocumentInvalid(message, hint=f"first reason: {skipped[0]['reason']}", skipped=skipped)
    return DocumentInvalid(
        f"{where} has no operations", hint="its `paths` are empty; check that it is the right document"
    )
