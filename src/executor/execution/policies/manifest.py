"""The manifest: every tool with its effect, the digest of its version, and the policy in force for the one who asks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from executor.dataclass import dataclass
from executor.execution.calls.pipeline import CallPipeline
from executor.model.identity.actor import Actor
from executor.model.policy import Decision, Policy
from executor.model.source import Source
from executor.policy.decide import Subject, decide
from executor.policy.pattern import matches
from executor.policy.visibility import Visibility
from executor.storage.catalog import tools
from executor.storage.catalog.tools import Head
from executor.storage.database import Database

ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """`is_conditional` if policies look at the arguments, so that a call may be decided otherwise."""

    tool: Head
    decision: Decision
    is_conditional: bool


@dataclass(frozen=True, slots=True)
class Manifest:
    """`next` is the path after which the next page begins."""

    entries: list[ManifestEntry]
    sources: Mapping[str, Source]
    next: str | None


async def read_manifest(
    database: Database,
    pipeline: CallPipeline,
    by: Actor,
    *,
    source: str | None = None,
    after: str = "",
    limit: int = ALL,
    visibility: Visibility | None = None,
) -> Manifest:
    """Nothing that `visibility` hides is in it."""
    heads = await pipeline.catalog.page(by.workspace_id, source=source, limit=limit, after=after)
    known = {one.id: one for one in await pipeline.catalog.sources(by.workspace_id)}
    shown = [
        head
        for head in heads
        if head.source_id in known and not (visibility is not None and visibility.hides(head.path, head.effect))
    ]
    places = await find_places(database, pipeline, [known[one] for one in {head.source_id for head in shown}])
    in_force = await pipeline.policies.of(by.workspace_id)

    def subject(head: Head) -> Subject:
        where = places.of(known[head.source_id], head.path)
        own = in_force.own_paths.get(head.path, "")
        return Subject(head.path, head.effect, head.source_id, by.id, None, (), head.schema_digest, where, own)

    entries = await asyncio.to_thread(lambda: [judge(head, subject(head), in_force.policies) for head in shown])
    return Manifest(entries, known, heads[-1].path if len(heads) == limit else None)


@dataclass(frozen=True, slots=True)
class Places:
    """What policies for tools are bound to: as `destination_for` says it of one tool."""

    destinations: Mapping[str, str]
    raw: frozenset[str]

    def of(self, source: Source, path: str) -> str:
        where = self.destinations[source.id]
        return f"{where}:{source.document_digest}" if path in self.raw else where


async def find_places(database: Database, pipeline: CallPipeline, sources: Sequence[Source]) -> Places:
    destinations = {one.id: await pipeline.bindings.destination(one) for one in sources}
    whole = [one.id for one in sources if one.kind == "graphql"]
    raw = await database.read(lambda c: frozenset(path for one in whole for path in tools.raw_paths(c, one)))
    return Places(destinations, raw)


def judge(head: Head, subject: Subject, policies: Sequence[Policy]) -> ManifestEntry:
    conditional = any(one.conditions and is_about(one, subject) for one in policies)
    return ManifestEntry(head, decide(subject, policies), conditional)


def is_about(policy: Policy, subject: Subject) -> bool:
    if policy.effect not in ("", subject.effect) or policy.source_id not in ("", subject.source_id):
        return False
    return policy.actor_id in ("", subject.actor_id) and matches(policy.pattern, subject.path)
