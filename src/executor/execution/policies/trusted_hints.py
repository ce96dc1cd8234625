"""Tools that an MCP server calls read-only: a person may trust that, for the tools as they are then, by a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.execution.approvals.prompt import shown_address
from executor.execution.calls.pipeline import CallPipeline
from executor.model.identity.actor import Actor
from executor.model.policy import MadeFor, Policy
from executor.model.source import Source
from executor.policy.drafts import draft
from executor.sources.lifecycle.persistence import no_source
from executor.sources.mcp.tools.hints import claims_to_read
from executor.storage.catalog import policies, sources, tools
from executor.storage.database import Database

Trust = Literal["trust", "ask"]
KIND = "mcp"


@dataclass(frozen=True, slots=True)
class Hints:
    """The tools that the server says only read, and those of them for which a person decided to trust it."""

    claimed: tuple[str, ...]
    trusted: tuple[str, ...]
    policy: Policy | None = None


async def find_hints(database: Database, source: Source) -> Hints:
    check_kind(source)
    return await database.read(lambda c: read_hints(c, source))


def read_hints(c: Connection, source: Source) -> Hints:
    claims, policy = read_claims(c, source), find_policy(c, source)
    known = policy.made_for.digests if policy is not None and policy.made_for is not None else frozenset[str]()
    trusted = tuple(path for path, digest in claims.items() if digest in known)
    return Hints(tuple(claims), trusted, policy if trusted else None)


def read_claims(c: Connection, source: Source) -> dict[str, str]:
    """Digests by path, as the tools are now."""
    digests = {path: digest for path, _, digest in tools.digests(c, source.id)}
    return {path: digests[path] for path, _, binding in tools.bindings(c, source.id) if claims_to_read(binding)}


def find_policy(c: Connection, source: Source) -> Policy | None:
    mine = (one for one in policies.listing(c, source.workspace_id) if one.source_id == source.id)
    return next((one for one in mine if one.made_for is not None and one.made_for.basis == "hints"), None)


async def decide_hints(
    pipeline: CallPipeline, source: Source, trust: Trust, paths: Sequence[str] | None, *, by: Actor
) -> Hints:
    """Trust the server for these tools, or for all that it says only read; or ask, as without any decision.

    What it says later, of other tools or of changed ones, needs approval until someone decides again.
    """
    check_kind(source)
    where = await pipeline.bindings.destination(source)
    return await pipeline.database.write(lambda c: write_decision(c, source, where, trust, paths, by=by))


def write_decision(
    c: Connection, source: Source, where: str, trust: Trust, paths: Sequence[str] | None, *, by: Actor
) -> Hints:
    """Its policy takes the place of the one that the source has. Both it and its policies are locked before a look."""
    if not sources.lock(c, source):
        raise no_source(source.namespace)
    policies.lock(c, source.workspace_id)
    claims, present = read_claims(c, source), find_policy(c, source)
    wanted = choose_claims(claims, paths) if trust == "trust" else {}
    if present is not None:
        policies.remove(c, source.workspace_id, present, by=by)
    if wanted:
        policy = draft(f"{source.namespace}.**", "allow", owner_id=source.workspace_id, source_id=source.id)
        made_for = MadeFor(where, frozenset(wanted.values()), shown_address(source), basis="hints")
        policies.add(c, source.workspace_id, replace(policy, made_for=made_for), by=by)
    return read_hints(c, source)


def choose_claims(claims: Mapping[str, str], paths: Sequence[str] | None) -> dict[str, str]:
    wrong = [path for path in paths or () if path not in claims]
    if wrong:
        raise InvalidRequest(
            f"the server does not say that {wrong[0]} only reads",
            hint=f"choose from: {', '.join(list(claims)[:20])}" if claims else "it says so for none of its tools",
        )
    return {path: digest for path, digest in claims.items() if paths is None or path in paths}


def check_kind(source: Source) -> None:
    if source.kind != KIND:
        raise InvalidRequest(
            f"{source.namespace} is of kind {source.kind}, and only MCP servers give such hints",
            hint="treat single tools as reads: `executor tools treat-as-read PATH`",
        )
