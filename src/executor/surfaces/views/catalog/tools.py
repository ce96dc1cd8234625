"""Tools, listed and found, and what is said of code before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict

from executor.model.policy import Action
from executor.model.tool import Effect
from executor.surfaces.views.executions import Diagnostic

if TYPE_CHECKING:
    from executor.execution.policies.manifest import Manifest, ManifestEntry
    from executor.model.source import Source


class CheckView(TypedDict):
    ok: bool
    diagnostics: list[Diagnostic]
    unavailable: str | None


class Span(TypedDict):
    line: int
    column: int
    endLine: int
    endColumn: int


class Completion(TypedDict):
    label: str
    kind: str
    detail: str
    documentation: str
    insertText: str
    replace: Span


class Completions(TypedDict):
    items: list[Completion]


class ToolHead(TypedDict):
    path: str
    description: str
    effect: Effect
    deprecated: bool
    source: str


class PolicyInForce(TypedDict):
    """What happens to a call. Where policies look at arguments (`conditional`), it is the strictest of what may."""

    action: Action
    reason: str
    policyId: str | None
    conditional: bool


class ManifestTool(ToolHead):
    """`digest` identifies the version of the tool: `/v1/tool-versions/{digest}` has it. `source` is the namespace."""

    digest: str
    policy: PolicyInForce


class ManifestSource(TypedDict):
    id: str
    namespace: str
    name: str
    kind: str
    toolCount: int
    documentDigest: str


class ManifestView(TypedDict):
    """`next` is the `after` of the next page, null at the end."""

    sources: list[ManifestSource]
    items: list[ManifestTool]
    next: str | None


def manifest_view(manifest: Manifest) -> ManifestView:
    used = {entry.tool.source_id for entry in manifest.entries}
    return {
        "sources": [manifest_source(one) for one in manifest.sources.values() if one.id in used],
        "items": [manifest_tool(one, manifest.sources[one.tool.source_id].namespace) for one in manifest.entries],
        "next": manifest.next,
    }


def manifest_source(source: Source) -> ManifestSource:
    return {
        "id": source.id,
        "namespace": source.namespace,
        "name": source.name,
        "kind": source.kind,
        "toolCount": source.tool_count,
        "documentDigest": source.document_digest,
    }


def manifest_tool(entry: ManifestEntry, namespace: str) -> ManifestTool:
    tool, decision = entry.tool, entry.decision
    return {
        "path": tool.path,
        "description": tool.description,
        "effect": tool.effect,
        "deprecated": tool.deprecated,
        "source": namespace,
        "digest": tool.schema_digest,
        "policy": {
            "action": decision.action,
            "reason": decision.reason,
            "policyId": decision.policy_id or None,
            "conditional": entry.is_conditional,
        },
    }


class RenameView(TypedDict):
    was: str
    path: str


class LabelledView(TypedDict):
    """Tools that have other paths now. `rules` are policies that allowed calls under the old names and no longer do."""

    renamed: list[RenameView]
    reworded: list[str]
    rules: list[str]


class ToolPage(TypedDict):
    items: list[ToolHead]
    next: str | None


class ToolMatches(TypedDict):
    bestPath: str | None
    items: list[dict[str, Any]]
    total: int
    groups: NotRequired[dict[str, int] | None]
    hint: NotRequired[str | None]
