"""What applying a configuration would change: compared with what is there, and with what it made before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.execution.configuration.document import Document, Entry, Problem
from executor.execution.configuration.entries import (
    AnyEntry,
    MemberEntry,
    PolicyEntry,
    SecretEntry,
    SourceEntry,
    ToolkitEntry,
    read_entry,
)
from executor.model.declaration import Declaration, Noun, Origin
from executor.model.digest import digest
from executor.model.identity.actor import Member
from executor.model.policy import ApprovalDefaults, Policy
from executor.model.source import Source
from executor.model.toolkit import Toolkit
from executor.policy.approval_defaults import WITHOUT, find_loosened
from executor.policy.drafts import text
from executor.storage.catalog import declarations, policies, sources, toolkits
from executor.storage.credentials import secrets
from executor.storage.identity import members, workspaces

# waiting: a person with this address is no member yet · dropped: it was declared before and stays until it is pruned
Action = Literal["add", "change", "replace", "none", "waiting", "dropped", "remove"]
Declared = set[tuple[Noun, str]]
ORDER: tuple[Noun, ...] = ("secret", "source", "policy", "toolkit", "member")
IDENTITY: dict[Noun, str] = {
    "secret": "name",
    "source": "name",
    "policy": "name",
    "toolkit": "slug",
    "member": "email",
}


@dataclass(frozen=True, slots=True)
class Change:
    """`details` are lines for people. `made` is what the configuration made before."""

    noun: Noun
    name: str
    action: Action
    place: str = ""
    details: tuple[str, ...] = ()
    entry: AnyEntry | None = None
    origin: Origin = "file"
    made: Declaration | None = None

    @property
    def is_due(self) -> bool:
        return self.action in ("add", "change", "replace", "remove")


@dataclass(frozen=True, slots=True)
class Plan:
    changes: tuple[Change, ...]
    problems: tuple[Problem, ...]

    @property
    def digest(self) -> str:
        """The same as long as the same would happen."""
        due = [[one.noun, one.name, one.action, one.details] for one in self.changes if one.is_due]
        entries = [one.entry.digest for one in self.changes if one.is_due and one.entry is not None]
        return digest([due, entries])


@dataclass(frozen=True, slots=True)
class Present:
    """What is there, by the names that a configuration uses."""

    made: Mapping[tuple[str, str], Declaration]
    sources: Mapping[str, Source]
    defaults: Mapping[str, ApprovalDefaults]
    policies: Mapping[str, Policy]
    members: Mapping[str, Member]
    secrets: Mapping[str, tuple[str, str, str]]  # id, provider and reference
    toolkits: Mapping[str, Toolkit] = field(default_factory=dict)


class Clash(Exception):
    def __init__(self, key: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.key, self.message, self.hint = key, message, hint


def read_present(c: Connection, workspace_id: str) -> Present:
    found = sources.listing(c, workspace_id)
    _, organization = workspaces.get(c, workspace_id)
    return Present(
        declarations.listing(c, workspace_id),
        {one.namespace: one for one in found},
        {one.id: policies.approval_defaults(c, one) for one in found},
        {one.id: one for one in policies.in_force(c, workspace_id)},
        {one.account.email.lower(): one for one in members.listing(c, organization.id) if one.account.email},
        {one.name: (one.id, one.provider, one.reference) for one in secrets.listing(c, workspace_id)},
        {one.slug: one for one in toolkits.listing(c, workspace_id)},
    )


def make_plan(document: Document, present: Present, *, prune: bool = False) -> Plan:
    problems, changes = list(document.problems), list[Change]()
    seen: dict[tuple[str, str], str] = {}
    declared = {(one.noun, name_of(one)) for one in document.entries}
    for entry in sorted(document.entries, key=lambda one: ORDER.index(one.noun)):
        found = read_entry(entry)
        key = (entry.noun, name_of(entry))
        if key[1] and key in seen:
            where = entry.at(IDENTITY[entry.noun])
            problems.append(Problem(where, f"{key[1]!r} is declared twice: first at {seen[key]}", "rename one of them"))
            continue
        seen[key] = entry.place
        if isinstance(found, Problem):
            problems.append(found)
            continue
        try:
            changes.append(compare(entry, found, present, declared))
        except Clash as clash:
            problems.append(Problem(entry.at(clash.key), clash.message, clash.hint))
    origins = document.origins if document.is_whole else frozenset()
    gone = [one for key, one in present.made.items() if key not in seen and one.origin in origins]
    changes += [
        Change(one.noun, one.name, "remove" if prune else "dropped", origin=one.origin, made=one)
        for one in sorted(gone, key=lambda one: -ORDER.index(one.noun))  # secrets last: sources use them
        if exists(one, present)
    ]
    return Plan(tuple(changes), tuple(problems))


def name_of(entry: Entry) -> str:
    """If it is there, whatever else is wrong with the entry."""
    name = entry.fields.get(IDENTITY[entry.noun])
    return name.strip().lower() if isinstance(name, str) and entry.noun == "member" else str(name or "").strip()


def compare(entry: Entry, found: AnyEntry, present: Present, declared: Declared) -> Change:
    made = present.made.get((entry.noun, found.name))
    if made is not None and not exists(made, present):
        made = None
    if isinstance(found, SourceEntry):
        action, details = compare_source(found, present, made, declared)
    elif isinstance(found, PolicyEntry):
        action, details = compare_policy(found, present, made, declared)
    elif isinstance(found, SecretEntry):
        action, details = compare_secret(found, present, made)
    elif isinstance(found, ToolkitEntry):
        action, details = compare_toolkit(found, present, made)
    else:
        action, details = compare_member(found, present)
    return Change(entry.noun, found.name, action, entry.at(), tuple(details), found, entry.origin, made)


def exists(made: Declaration, present: Present) -> bool:
    """Whether what it made is still there, and still under that name."""
    if made.noun == "source":
        source = present.sources.get(made.name)
        return source is not None and source.id == made.resource_id
    if made.noun == "policy":
        return made.resource_id in present.policies
    if made.noun == "toolkit":
        toolkit = present.toolkits.get(made.name)
        return toolkit is not None and toolkit.id == made.resource_id
    return made.name in present.secrets and present.secrets[made.name][0] == made.resource_id


def compare_source(
    entry: SourceEntry, present: Present, made: Declaration | None, declared: Declared
) -> tuple[Action, list[str]]:
    for _, secret in entry.auth.secrets if entry.auth else ():
        if secret not in present.secrets and ("secret", secret) not in declared:
            hint = "store it with `executor secrets set NAME`, or declare it under `secrets`"
            raise Clash("auth.secret", f"there is no secret {secret[:100]!r}", hint)
    source = present.sources.get(entry.name)
    if source is None:
        return "add", [*describe_source(entry), *describe_defaults({}, entry.defaults)]
    if made is None:
        hint = "rename this entry, or remove that source first: `executor sources remove`"
        raise Clash("name", f"a source {entry.name!r} is there already, added by hand", hint)
    if made.digest == entry.digest:
        return "none", []
    where, _ = entry.digests
    if made.digest.partition(":")[0] != where:
        lost = "it is connected as a new source: its credentials go, and so do the approvals and policies for it"
        return "replace", [*describe_source(entry), lost, *describe_defaults({}, entry.defaults)]
    return "change", [*describe_defaults(present.defaults[source.id], entry.defaults), *describe_auth(entry)]


def describe_source(entry: SourceEntry) -> list[str]:
    import shlex

    where = f"runs on this machine: {shlex.join(entry.command)}" if entry.command else entry.location
    base = [f"calls go to {entry.base_url}"] if entry.base_url else []
    return [f"{entry.kind}: {where}", *base, *describe_auth(entry)]


def describe_auth(entry: SourceEntry) -> list[str]:
    if entry.auth is None:
        return []
    if entry.auth.mode == "actor":
        return ["credential: everyone connects their own"]
    return [f"credential: the secret {', '.join(name for _, name in entry.auth.secrets)}"]


def describe_defaults(before: ApprovalDefaults, after: ApprovalDefaults) -> list[str]:
    looser = find_loosened(before, after)
    return [
        f"{effect} calls by default: {({**WITHOUT, **after})[effect]}{' (looser)' if effect in looser else ''}"
        for effect in WITHOUT
        if before.get(effect) != after.get(effect)
    ]


def compare_policy(
    entry: PolicyEntry, present: Present, made: Declaration | None, declared: Declared
) -> tuple[Action, list[str]]:
    if entry.source and entry.source not in present.sources and ("source", entry.source) not in declared:
        raise Clash("source", f"there is no source {entry.source[:100]!r}", "use the namespace of a source")
    if made is None:
        return "add", [text(entry.policy, actor=entry.actor, source=entry.source)]
    if made.digest == entry.digest:
        return "none", []
    now = text(entry.policy, actor=entry.actor, source=entry.source)
    return "change", [f"was {text(present.policies[made.resource_id])}", now]


def compare_secret(entry: SecretEntry, present: Present, made: Declaration | None) -> tuple[Action, list[str]]:
    there = present.secrets.get(entry.name)
    if there is None:
        return "add", [f"{entry.provider}: {entry.reference}"]
    if there[1:] == (entry.provider, entry.reference):
        return "none", []
    if made is None or there[1] != entry.provider:
        hint = "rename this entry, or remove that secret first: `executor secrets remove`"
        raise Clash("name", f"there is another secret {entry.name!r} already", hint)
    return "change", [f"{entry.provider}: {there[2]} → {entry.reference}"]


def compare_toolkit(entry: ToolkitEntry, present: Present, made: Declaration | None) -> tuple[Action, list[str]]:
    there = present.toolkits.get(entry.name)
    if there is None:
        return "add", describe_toolkit(entry)
    if made is None:
        hint = "rename this entry, or remove that toolkit first: `executor toolkits remove`"
        raise Clash("slug", f"a toolkit {entry.name!r} is there already, added by hand", hint)
    return ("none", []) if made.digest == entry.digest else ("change", describe_toolkit(entry))


def describe_toolkit(entry: ToolkitEntry) -> list[str]:
    one = entry.draft
    passed = [f"passed through: {', '.join(one.pass_through)}"] if one.pass_through else []
    return [f"tools: {', '.join(one.patterns)}", *map(text, one.policies), *passed]


def compare_member(entry: MemberEntry, present: Present) -> tuple[Action, list[str]]:
    member = present.members.get(entry.name)
    if member is None:
        return "waiting", [f"invite them: `executor invitations create --email {entry.name} --role {entry.role}`"]
    if member.role == entry.role:
        return "none", []
    return "change", [f"{member.role} → {entry.role}"]
