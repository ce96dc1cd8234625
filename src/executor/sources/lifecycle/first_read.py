"""The first reading of a source that wanted a credential before it said what it is."""

from __future__ import annotations

from dataclasses import replace

from executor.connections.connections import Connections
from executor.dataclass import dataclass
from executor.model.source import Source
from executor.sources import detection
from executor.sources.kind import Kind
from executor.sources.lifecycle import reader
from executor.sources.registry import Kinds
from executor.sources.source_request import Previous, SourceRequest


@dataclass(frozen=True, slots=True)
class Determined:
    """What it is, with the credential that it has now, and how it is read."""

    kind: Kind
    source: Source
    request: SourceRequest


async def determine(kinds: Kinds, kind: Kind, source: Source, connections: Connections | None) -> Determined:
    """As it was guessed, as long as it has no credential. Raises SourceError if it is nothing that can be connected."""
    request = await reader.again(kind, source, connections)
    if request.context.credential is None:
        return Determined(kind, source, request)
    options = {} if source.kind == "mcp" else request.options  # made from its config, which was a guess
    found = await detection.resolve(kinds, replace(request, kind="", previous=None, options=options))
    if found.undetermined:
        return Determined(kind, source, request)
    named = replace(found, namespace=source.namespace, name=request.name, previous=Previous(source_id=source.id))
    return Determined(await kinds.get(found.kind), replace(source, kind=found.kind), named)


def is_same(source: Source, request: SourceRequest) -> bool:
    """Whether the request names what the source was connected as."""
    config = source.config
    kept = (config.get("location", ""), config.get("spec_url", ""), config.get("given_base_url", ""))
    return kept == (request.location, request.spec_url, request.base_url)
