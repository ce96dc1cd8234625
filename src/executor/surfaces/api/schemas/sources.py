"""Sources, and what is found out before one is connected."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from executor.surfaces.api.schemas.base import Effect, Shape


class Skipped(Shape):
    where: str
    reason: str


class AuthView(Shape):
    name: str
    type: str
    description: str


class ProbeView(Shape):
    kind: str
    location: str | None
    name: str | None
    namespace: str | None
    base_url: str | None
    transport: str | None
    auth: list[AuthView]
    note: str | None


class OfferedTool(Shape):
    path: str
    description: str
    effect: Effect


class CoveringRule(Shape):
    """A rule that allows calls in the namespace of a source. One that was there first holds for it only by consent."""

    id: str
    text: str
    holds: bool


class ToolGroup(Shape):
    """A filter, and how many tools it matches."""

    filter: str
    tools: int


class PreviewView(Shape):
    """What a source would offer: the first `tools` of the `toolCount` that were chosen of those `offered`.

    `groups` are what tools can be chosen by, whatever the choice is. `note` says why there are none yet.
    """

    name: str
    namespace: str
    tool_count: int
    offered: int
    groups: list[ToolGroup]
    tools: list[OfferedTool]
    skipped: list[Skipped]
    note: str | None


class TemplateView(Shape):
    id: str
    name: str
    kind: str
    location: str
    namespace: str
    base_url: str | None
    auth: str | None
    note: str | None


class TemplatePage(Shape):
    items: list[TemplateView]


class ChoiceView(Shape):
    """The filters that choose its tools, and how many there were to choose from."""

    include: list[str]
    exclude: list[str]
    offered: int


class SourceView(Shape):
    id: str
    kind: str
    namespace: str
    name: str
    status: Literal["connected", "failing"]
    error: str | None
    location: str | None
    command: list[str] | None
    base_url: str | None
    transport: str | None
    hosted: str | None
    headers: list[str]
    auth: list[AuthView]
    tool_count: int
    choice: ChoiceView | None = None
    skipped: list[Skipped]
    created_at: str
    refreshed_at: str


class HintsView(Shape):
    """Tools that an MCP server says only read, and those of them that are trusted to, by the rule with this id."""

    claimed: list[str]
    trusted: list[str]
    policy_id: str | None


class AddedView(SourceView):
    """`rules` are those that were there and cover its namespace; `hints` are those of an MCP server."""

    rules: list[CoveringRule] = Field(default_factory=list)
    hints: HintsView | None = None


class RefreshedView(SourceView):
    unchanged: bool
    added: list[str]
    removed: list[str]
    changed: list[str]


class SourcePage(Shape):
    items: list[SourceView]


class RevisionView(Shape):
    """One reading that changed something. Of `reworded` tools only what is said about them is another."""

    at: str
    added: int
    removed: int
    changed: int
    reworded: int


class SchemaDifference(Shape):
    """`at` is a place (`input.customer.name`), `what` the keyword that differs, or `added` and `removed`."""

    at: str
    what: str
    was: str
    now: str


class ToolChange(Shape):
    """`before` and `after` are digests: `/v1/tools/versions/{digest}` has the tool as it was."""

    path: str
    change: Literal["added", "removed", "changed", "reworded"]
    before: str | None
    after: str | None
    effect: Effect | None
    description: str
    differences: list[SchemaDifference]
    cut: bool


class ChangesView(Shape):
    """A page of one `revision`; the others that are still known are in `revisions`, newest first."""

    refreshed_at: str
    revision: RevisionView | None
    revisions: list[RevisionView]
    items: list[ToolChange]
    next: str | None


class DependentConnection(Shape):
    id: str
    name: str
    scheme: str
    status: str
    scope: Literal["workspace", "actor"]


class DependentPolicy(Shape):
    id: str
    level: str
    pattern: str
    action: str


class WaitingCall(Shape):
    execution_id: str
    interaction_id: str
    tool: str
    since: str


class RecentCalls(Shape):
    """Of the last `executions` of the workspace."""

    executions: int
    calls: int
    last_at: str | None


class DependentsView(Shape):
    tools: int
    connections: list[DependentConnection]
    policies: list[DependentPolicy]
    waiting: list[WaitingCall]
    recent: RecentCalls
