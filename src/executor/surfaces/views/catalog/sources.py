"""Sources, and what is found out before one is connected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from executor.connections.schemes import Needed, way
from executor.model.known_keys import Pair
from executor.model.policy import Action, ApprovalDefaults
from executor.model.source import Choice, Source, SourceStatus, choice_of, hosted_as
from executor.model.tool import Effect
from executor.network.addresses import parse
from executor.policy.approval_defaults import WITHOUT
from executor.sources.lifecycle.edit import revision_of
from executor.surfaces.views.base import SchemaDifference, time

if TYPE_CHECKING:
    from executor.execution.policies.trusted_hints import Hints
    from executor.sources.kind import Probe
    from executor.sources.lifecycle.persistence import Refreshed
    from executor.sources.lifecycle.preview import Preview
    from executor.sources.lifecycle.revisions import Revision
    from executor.sources.source_request import SourceRequest
    from executor.sources.templates import Template

SKIPPED = 100


class Skipped(TypedDict):
    where: str
    reason: str


class AuthView(TypedDict):
    name: str
    type: str
    description: str


def auth_view(auth: Any) -> AuthView:
    """`auth` is a mapping in a stored config, and an `Auth` in the answer to a probe."""
    read = auth.get if isinstance(auth, dict) else lambda name, default="": getattr(auth, name, default)
    return {"name": read("name", ""), "type": read("type", "unknown"), "description": read("description", "")}


class ProbeView(TypedDict):
    kind: str
    location: str | None
    name: str | None
    namespace: str | None
    baseUrl: str | None
    transport: str | None
    auth: list[AuthView]
    note: str | None
    warning: str | None
    guarded: bool
    ways: list[dict[str, Any]]
    sentTo: str | None


def probe_view(probe: Probe, request: SourceRequest) -> ProbeView:
    """`ways` are what opens a guarded address, and `sentTo` is the one place where that goes."""
    return {
        "kind": probe.kind,
        "location": probe.location or None,
        "name": probe.name or None,
        "namespace": probe.namespace or None,
        "baseUrl": probe.base_url or None,
        "transport": probe.transport or None,
        "auth": [auth_view(one) for one in probe.auth],
        "note": probe.note or None,
        "warning": probe.warning or None,
        "guarded": probe.guarded,
        "ways": [one.view() for one in ways_to_read(probe)],
        "sentTo": parse(request.spec_url or probe.location).origin if probe.guarded else None,
    }


def ways_to_read(probe: Probe) -> list[Needed]:
    found = [way(asdict(one)) for one in probe.auth] if probe.guarded else []
    return [one for one in found if one is not None]


class OfferedTool(TypedDict):
    path: str
    description: str
    effect: Effect


class ToolGroup(TypedDict):
    """A filter, and how many tools it matches."""

    filter: str
    tools: int


class PreviewView(TypedDict):
    """What a source would offer: the first `tools` of the `toolCount` that were chosen of those `offered`.

    `groups` are what tools can be chosen by, whatever the choice is. `note` says why there are none yet.
    """

    name: str
    namespace: str
    toolCount: int
    offered: int
    groups: list[ToolGroup]
    tools: list[OfferedTool]
    skipped: list[Skipped]
    note: str | None


def preview_view(preview: Preview) -> PreviewView:
    return {
        "name": preview.name,
        "namespace": preview.namespace,
        "toolCount": preview.tool_count,
        "offered": preview.offered,
        "groups": [{"filter": one.filter, "tools": one.tools} for one in preview.groups],
        "tools": [
            {"path": one.path, "description": one.description, "effect": cast("Effect", one.effect)}
            for one in preview.tools
        ],
        "skipped": [{"where": one.where, "reason": one.reason} for one in preview.skipped[:SKIPPED]],
        "note": preview.note or None,
    }


class TemplateView(TypedDict):
    id: str
    name: str
    kind: str
    location: str
    namespace: str
    baseUrl: str | None
    auth: str | None
    note: str | None


def template_view(template: Template) -> TemplateView:
    return {
        "id": template.id,
        "name": template.name,
        "kind": template.kind,
        "location": template.location,
        "namespace": template.namespace,
        "auth": template.auth or None,
        "note": template.note or None,
        "baseUrl": template.base_url or None,
    }


class TemplatePage(TypedDict):
    items: list[TemplateView]


class ChoiceView(TypedDict):
    """The filters that choose its tools, and how many there were to choose from."""

    include: list[str]
    exclude: list[str]
    offered: int


def choice_view(choice: Choice) -> ChoiceView | None:
    """None where all of its tools are there."""
    if not choice:
        return None
    return {"include": list(choice.include), "exclude": list(choice.exclude), "offered": choice.offered}


class SourceView(TypedDict):
    id: str
    kind: str
    namespace: str
    name: str
    status: SourceStatus
    error: str | None
    warning: NotRequired[str | None]
    location: str | None
    command: list[str] | None
    baseUrl: str | None
    transport: str | None
    hosted: str | None
    headers: list[str]
    specUrl: NotRequired[str | None]
    environment: NotRequired[list[str]]
    directory: NotRequired[str | None]
    refreshSeconds: NotRequired[int | None]
    review: NotRequired[str | None]
    revision: NotRequired[str]
    auth: list[AuthView]
    unread: bool
    toolCount: int
    choice: NotRequired[ChoiceView | None]
    skipped: list[Skipped]
    createdAt: str
    refreshedAt: str


def source_view(source: Source, *, secrets: bool = False) -> SourceView:
    """Arguments of a command may be secrets: without `secrets` only its first word is shown."""
    config = source.known_keys
    return {
        "id": source.id,
        "kind": source.kind,
        "namespace": source.namespace,
        "name": source.name,
        "status": source.status,
        "error": source.error or None,
        "location": config.get("location") or None,
        "command": list((config.get("command") or ())[: None if secrets else 1]) or None,
        "baseUrl": config.get("base_url") or None,
        "transport": config.get("transport") or None,
        "hosted": hosted_as(source) or None,
        "headers": names_of(config.get("headers")),
        "specUrl": config.get("spec_url") or None,
        "environment": names_of(config.get("environment")) if secrets else [],
        "directory": config.get("directory") or None if secrets else None,
        "refreshSeconds": config.get("refresh_seconds"),
        "review": config.get("review"),
        "revision": revision_of(source),
        "auth": [auth_view(one) for one in config.get("auth") or ()],
        "unread": bool(config.get("unread")),
        "toolCount": source.tool_count,
        "choice": choice_view(choice_of(config)),
        "skipped": [{"where": skipped.where, "reason": skipped.reason} for skipped in source.skipped],
        "createdAt": time(source.created_at),
        "refreshedAt": time(source.refreshed_at),
    }


def names_of(pairs: Iterable[Pair] | None) -> list[str]:
    """The values of headers and variables are secrets: nothing shows them."""
    return sorted(str(one if isinstance(one, str) else one[0]) for one in pairs or ())


class HintsView(TypedDict):
    """Tools that an MCP server says only read, and those of them that are trusted to, by the policy with this id."""

    claimed: list[str]
    trusted: list[str]
    policyId: str | None


def hints_view(hints: Hints) -> HintsView:
    policy_id = hints.policy.id if hints.policy is not None else None
    return {"claimed": list(hints.claimed), "trusted": list(hints.trusted), "policyId": policy_id}


class ApprovalDefaultsView(TypedDict):
    """What happens to calls of each effect that no policy decides about; null where nothing is set for the source.

    `inForce` is what happens then.
    """

    read: Action | None
    write: Action | None
    destructive: Action | None
    inForce: dict[Effect, Action]


def approval_defaults_view(defaults: ApprovalDefaults) -> ApprovalDefaultsView:
    return {
        "read": defaults.get("read"),
        "write": defaults.get("write"),
        "destructive": defaults.get("destructive"),
        "inForce": {**WITHOUT, **defaults},
    }


class CoveringPolicy(TypedDict):
    """A policy that allows calls in the namespace of a source. An older one applies to it only by consent."""

    id: str
    text: str
    holds: bool


class AddedView(SourceView):
    """`rules` are policies that already cover its namespace; `hints` are those of an MCP server; `defaults` decide
    where no policy does."""

    rules: NotRequired[list[CoveringPolicy]]
    hints: NotRequired[HintsView | None]
    defaults: NotRequired[ApprovalDefaultsView]


class RefreshedView(SourceView):
    """`held` are the tools whose change waits for a review, under the server's own names."""

    unchanged: bool
    added: list[str]
    removed: list[str]
    changed: list[str]
    held: list[str]


def refreshed_view(refreshed: Refreshed) -> RefreshedView:
    """The source, and what reading it again changed."""
    differences = refreshed.differences
    return {
        **source_view(refreshed.source, secrets=True),
        "unchanged": refreshed.unchanged,
        "added": list(differences.added),
        "removed": list(differences.removed),
        "changed": list(differences.changed),
        "held": list(refreshed.held),
    }


class SourcePage(TypedDict):
    items: list[SourceView]


class RevisionView(TypedDict):
    """One reading that changed something. Of `reworded` tools only what is said about them is another."""

    at: str
    added: int
    removed: int
    changed: int
    reworded: int


def revision_view(revision: Revision) -> RevisionView:
    return {
        "at": time(revision.at),
        "added": revision.added,
        "removed": revision.removed,
        "changed": revision.changed,
        "reworded": revision.reworded,
    }


class ToolChange(TypedDict):
    """`before` and `after` are digests: `/v1/tool-versions/{digest}` has the tool as it was."""

    path: str
    change: Literal["added", "removed", "changed", "reworded"]
    before: str | None
    after: str | None
    effect: Effect | None
    description: str
    differences: list[SchemaDifference]
    cut: bool


class ChangesView(TypedDict):
    """A page of one `revision`; the others that are still known are in `revisions`, newest first."""

    refreshedAt: str
    revision: RevisionView | None
    revisions: list[RevisionView]
    items: list[ToolChange]
    next: str | None
