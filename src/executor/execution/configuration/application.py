"""Apply a configuration, entry by entry: what fails is named and stops none of the others."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlalchemy.engine import Connection

from executor.catalog.catalog import Catalog
from executor.connections.connections import Connections
from executor.connections.new_connection import Offer
from executor.connections.resolution import ways_of
from executor.connections.schemes import BASIC, BEARER
from executor.dataclass import dataclass
from executor.errors import Conflict, ExecutorError, InvalidRequest
from executor.execution.approvals.credentials import resume_waiting
from executor.execution.approvals.orphans import deny_orphans
from executor.execution.configuration.document import Document, Problem
from executor.execution.configuration.entries import (
    Auth,
    MemberEntry,
    PolicyEntry,
    SecretEntry,
    SourceEntry,
    ToolkitEntry,
)
from executor.execution.configuration.plan import Change, Plan, make_plan, read_present
from executor.execution.engine import Engine
from executor.execution.names import identify, read_names
from executor.execution.policies import administration
from executor.execution.policies.approval_defaults import set_approval_defaults
from executor.execution.toolkits.toolkits import Toolkits
from executor.identity import members
from executor.model.declaration import Declaration
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import require
from executor.model.policy import Policy
from executor.model.source import Choice, Source
from executor.model.toolkit import Toolkit
from executor.sources.lifecycle.persistence import present
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.catalog import declarations, policies
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import members as member_rows
from executor.storage.identity import workspaces
from executor.storage.identity.tenancy import Tenancy

CONNECTION = "declared"  # the name of a connection that a configuration made
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Terms:
    """`consent`: the commands and modules were seen and agreed to. `folder` is where relative paths begin."""

    by: Actor
    consent: bool = False
    folder: Path | None = None
    prune: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """`error` is empty for what was done, and for what there was nothing to do about."""

    change: Change
    error: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Applied:
    outcomes: tuple[Outcome, ...]
    problems: tuple[Problem, ...]


class Configuration:
    def __init__(
        self, database: Database, catalog: Catalog, connections: Connections, engine: Engine, tenancy: Tenancy
    ) -> None:
        self._database = database
        self._catalog = catalog
        self._connections = connections
        self._engine = engine
        self._tenancy = tenancy
        self._toolkits = Toolkits(database, engine)
        self._applying = asyncio.Lock()

    async def plan(self, document: Document, by: Actor, *, prune: bool = False) -> Plan:
        there = await self._database.read(lambda c: read_present(c, by.workspace_id))
        return make_plan(document, there, prune=prune)

    async def apply(self, document: Document, terms: Terms, *, expected: str = "") -> Applied:
        """With `expected`, the digest of a plan that someone saw: that plan, or nothing."""
        async with self._applying:
            plan = await self.plan(document, terms.by, prune=terms.prune)
            if expected and expected != plan.digest:
                raise Conflict("something changed after the differences were shown", hint="look at them again")
            outcomes = [await self._settle(change, terms) for change in plan.changes]
        due = [one for one in outcomes if one.change.is_due and not one.error]
        if due:
            facts = {"applied": [f"{one.change.action} {one.change.noun} {one.change.name}" for one in due]}
            workspace_id = terms.by.workspace_id
            await self._database.write(
                lambda c: events.append(c, workspace_id, "configuration.applied", facts, by=terms.by)
            )
        return Applied(tuple(outcomes), plan.problems)

    async def _settle(self, change: Change, terms: Terms) -> Outcome:
        if not change.is_due:
            return Outcome(change)
        try:
            if change.action == "remove":
                await self._remove(change, terms)
            else:
                await self._put(change, terms)
        except ExecutorError as error:
            return Outcome(change, error.message, error.hint)
        return Outcome(change)

    async def _put(self, change: Change, terms: Terms) -> None:
        entry = change.entry
        if isinstance(entry, SourceEntry):
            await self._put_source(change, entry, terms)
        elif isinstance(entry, PolicyEntry):
            await self._put_policy(change, entry, terms)
        elif isinstance(entry, SecretEntry):
            await self._put_secret(change, entry, terms)
        elif isinstance(entry, ToolkitEntry):
            await self._put_toolkit(change, entry, terms)
        elif isinstance(entry, MemberEntry):
            await self._put_member(entry, terms.by)

    async def _remove(self, change: Change, terms: Terms) -> None:
        by, made = terms.by, change.made
        if change.noun == "source":
            await self._remove_source(change, terms)
        elif change.noun == "policy" and made is not None:
            await administration.remove(self._database, by, made.resource_id)
        elif change.noun == "toolkit" and made is not None:
            await self._toolkits.remove(by, made.resource_id)
        elif change.noun == "secret":
            await self._connections.secrets.remove(by.workspace_id, change.name, by=by)
        await self._database.write(lambda c: declarations.remove(c, by.workspace_id, change.noun, change.name))

    async def _record(self, change: Change, terms: Terms, resource_id: str, digest: str) -> None:
        await self._database.write(lambda c: record(c, change, terms, resource_id, digest))

    # -- sources ------------------------------------------------------------------------------------------------------

    async def _put_source(self, change: Change, entry: SourceEntry, terms: Terms) -> None:
        if change.action == "change":
            source = await present(self._database, terms.by.workspace_id, entry.name)
            await set_approval_defaults(self._database, source, entry.defaults, by=terms.by)
        else:
            source = await self._add_source(change, entry, terms)
        await self._connect(source, entry, terms)
        await self._record(change, terms, source.id, entry.digest)

    async def _add_source(self, change: Change, entry: SourceEntry, terms: Terms) -> Source:
        request = await asyncio.to_thread(request_of, entry, terms)
        if change.action == "replace":  # what can't be read takes the place of nothing
            await self._catalog.lifecycle.preview(request)
            await self._remove_source(change, terms)
        where, _ = entry.digests
        known = entry.digest if entry.auth is None else f"{where}:"  # the rest when its credential is there too

        def on_insert(c: Connection, source: Source) -> None:
            record(c, change, terms, source.id, known)

        return await self._catalog.add_source(terms.by.workspace_id, request, by=terms.by, on_insert=on_insert)

    async def _remove_source(self, change: Change, terms: Terms) -> None:
        removed = await self._catalog.lifecycle.remove(terms.by.workspace_id, change.name, by=terms.by)
        await deny_orphans(self._engine, removed, by=terms.by)

    async def _connect(self, source: Source, entry: SourceEntry, terms: Terms) -> None:
        made = [
            one for one in await self._connections.of_source(source.id) if one.name == CONNECTION and not one.actor_id
        ]
        if entry.auth is None or entry.auth.mode == "actor":
            for one in made:
                await self._connections.remove(terms.by, one.id)
            return
        connection = await self._connections.add(source, offer_of(source, entry.auth), by=terms.by)
        await resume_waiting(self._engine, connection, by=terms.by)
        if source.status == "failing":
            self._catalog.lifecycle.source_changed(source.id)

    # -- all else -----------------------------------------------------------------------------------------------------

    async def _put_policy(self, change: Change, entry: PolicyEntry, terms: Terms) -> None:
        known = await read_names(self._database, terms.by.workspace_id)
        policy = replace(
            entry.policy,
            owner_id=await administration.find_owner(self._database, terms.by, entry.policy.level),
            actor_id=identify("actor", entry.actor, known.actors),
            source_id=identify("source", entry.source, known.sources),
        )
        if change.made is None:
            administration.check_level(terms.by, policy.level)
            await self._database.write(lambda c: add_policy(c, policy, change, terms))
            return
        before = await administration.find_own(self._database, terms.by, change.made.resource_id)
        if before.level != policy.level:
            raise InvalidRequest(f"the policy belongs to the {before.level}", hint="choose another name")
        await administration.change(self._database, terms.by, before.id, policy)
        await self._record(change, terms, before.id, entry.digest)

    async def _put_secret(self, change: Change, entry: SecretEntry, terms: Terms) -> None:
        secrets, workspace_id = self._connections.secrets, terms.by.workspace_id
        if change.action == "add":
            act = partial(secrets.set, workspace_id, entry.name, provider=entry.provider)
        else:
            act = partial(secrets.rotate, workspace_id, entry.name)
        secret = await act(by=terms.by, reference=entry.reference)
        await self._record(change, terms, secret.id, entry.digest)

    async def _put_toolkit(self, change: Change, entry: ToolkitEntry, terms: Terms) -> None:
        def note(c: Connection, toolkit: Toolkit) -> None:
            record(c, change, terms, toolkit.id, entry.digest)

        if change.made is None:
            await self._toolkits.add(terms.by, entry.draft, note)
        else:
            await self._toolkits.change(terms.by, change.made.resource_id, lambda _: entry.draft, note)

    async def _put_member(self, entry: MemberEntry, by: Actor) -> None:
        """Roles are for those who manage the organization."""
        administration.check_level(by, "organization")
        account_id = await self._database.read(lambda c: account_of(c, by.workspace_id, entry.name))
        await members.change(self._database, self._tenancy, by, account_id, entry.role)


def record(c: Connection, change: Change, terms: Terms, resource_id: str, digest: str) -> None:
    made = Declaration(change.noun, change.name, change.origin, resource_id, digest)
    declarations.put(c, terms.by.workspace_id, made)


def add_policy(c: Connection, policy: Policy, change: Change, terms: Terms) -> None:
    added = policies.add(c, terms.by.workspace_id, policy, by=terms.by)
    record(c, change, terms, added.id, change.entry.digest if change.entry is not None else "")


def account_of(c: Connection, workspace_id: str, email: str) -> str:
    _, organization = workspaces.get(c, workspace_id)
    found = [one for one in member_rows.listing(c, organization.id) if one.account.email.lower() == email]
    if len(found) != 1:
        raise Conflict(f"{len(found)} members have the address {email}", hint="see `executor members list`")
    return found[0].account.id


def request_of(entry: SourceEntry, terms: Terms) -> SourceRequest:
    """Commands, modules and files of this machine are for its operator alone."""
    by_operator = terms.by.may("operate")
    location, document = entry.location, None
    if entry.kind == "openapi" and "://" not in location:
        require(terms.by, "reading a file of this machine")
        location, document = read_document(location, terms.folder)
    return SourceRequest(
        kind=entry.kind,
        location=location,
        document=document,
        command=entry.command,
        namespace=entry.name,
        name="",
        base_url=entry.base_url,
        options=options_of(entry, terms),
        choice=Choice(entry.include, entry.exclude),
        consented=Consent(
            runs_code=terms.consent,
            private_network=True,
            by_operator=by_operator,
            approval_defaults=entry.defaults,
        ),
    )


def options_of(entry: SourceEntry, terms: Terms) -> dict[str, str]:
    """A command runs in the folder of its file, so that it may name files beside it."""
    if entry.command:
        return {"cwd": str(terms.folder)} if terms.folder is not None else {}
    return {"transport": entry.transport} if entry.transport else {}


def read_document(path: str, folder: Path | None) -> tuple[str, bytes]:
    file = ((folder or Path.cwd()) / Path(path).expanduser()).absolute()
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InvalidRequest(f"{file} is too large", hint="give the address of the document")
        return str(file), file.read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{file} can't be read: {error.strerror}", hint="check `spec`") from error


def offer_of(source: Source, auth: Auth) -> Offer:
    """By its `type`, or else as the source asks for it; if that says nothing, as a bearer token."""
    named = dict(auth.secrets)
    offer = Offer(name=CONNECTION, replace=True)
    if auth.type == "basic":
        return replace(offer, placements=(BASIC,), secrets=named)
    if auth.type == "apiKey":
        key = {"in": "header", "name": auth.name, "template": "{key}"}
        return replace(offer, placements=(key,), secrets={"key": named[""]})
    ways = [one for one in ways_of(source, None) if one.oauth is None] if not auth.type else []
    if not ways:
        return replace(offer, placements=(BEARER,), secrets={"token": named[""]})
    if len(ways[0].inputs) != 1:
        raise InvalidRequest(f"{source.namespace} asks for {', '.join(ways[0].inputs)}", hint="give `auth.type`")
    return replace(offer, way=ways[0].name, secrets={ways[0].inputs[0]: named[""]})
