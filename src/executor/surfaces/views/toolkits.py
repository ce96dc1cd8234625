"""Toolkits, the tools in them, and their keys."""

from __future__ import annotations

from typing import cast

from typing_extensions import TypedDict

from executor.execution.toolkits.reach import Reach, Reached
from executor.execution.toolkits.toolkits import revision_of
from executor.model.identity.access import Key
from executor.model.policy import Action, Policy
from executor.model.tool import Effect
from executor.model.toolkit import Toolkit
from executor.policy.drafts import text
from executor.surfaces.http.mcp_paths import TOOLKITS
from executor.surfaces.views.base import time
from executor.surfaces.views.catalog.policies import ConditionView


class ToolkitPolicyView(TypedDict):
    pattern: str
    action: Action
    conditions: list[ConditionView]
    effect: Effect | None
    note: str
    text: str


class ToolkitView(TypedDict):
    """`tools` is how many are in it now, `exposed` how many of them clients see as tools of their own, of those
    `matching`. `unmatched` are the patterns that match nothing now."""

    id: str
    slug: str
    name: str
    description: str
    patterns: list[str]
    policies: list[ToolkitPolicyView]
    passThrough: list[str]
    endpoint: str
    tools: int
    exposed: int
    matching: int
    unmatched: list[str]
    revision: str
    createdBy: str
    createdAt: str
    updatedAt: str


class ToolkitPage(TypedDict):
    items: list[ToolkitView]


class ToolkitToolView(TypedDict):
    """`name` is that of the MCP tool, for what is passed through."""

    path: str
    effect: Effect
    name: str | None


class ToolkitToolPage(TypedDict):
    items: list[ToolkitToolView]
    next: str | None


class ToolkitKeyView(TypedDict):
    id: str
    agentId: str
    name: str
    prefix: str
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    revokedAt: str | None


class NewToolkitKeyView(ToolkitKeyView):
    token: str


class ToolkitKeyPage(TypedDict):
    items: list[ToolkitKeyView]


def toolkit_view(toolkit: Toolkit, reach: Reach, address: str) -> ToolkitView:
    return {
        "id": toolkit.id,
        "slug": toolkit.slug,
        "name": toolkit.name,
        "description": toolkit.description,
        "patterns": list(toolkit.patterns),
        "policies": [policy_view(one) for one in toolkit.policies],
        "passThrough": list(toolkit.pass_through),
        "endpoint": f"{address}{TOOLKITS}{toolkit.slug}",
        "tools": len(reach.tools),
        "exposed": len(reach.exposed_tools),
        "matching": reach.passed,
        "unmatched": list(reach.unmatched),
        "revision": revision_of(toolkit),
        "createdBy": toolkit.created_by,
        "createdAt": time(toolkit.created_at),
        "updatedAt": time(toolkit.updated_at),
    }


def policy_view(policy: Policy) -> ToolkitPolicyView:
    return {
        "pattern": policy.pattern,
        "action": policy.action,
        "conditions": [{"path": one.path, "test": one.test, "value": one.value} for one in policy.conditions],
        "effect": cast("Effect | None", policy.effect or None),
        "note": policy.note,
        "text": text(policy),
    }


def tool_view(tool: Reached) -> ToolkitToolView:
    return {"path": tool.path, "effect": tool.effect, "name": tool.name or None}


def key_view(key: Key) -> ToolkitKeyView:
    return {
        "id": key.id,
        "agentId": key.actor_id,
        "name": key.name,
        "prefix": key.prefix,
        "createdAt": time(key.created_at),
        "expiresAt": time(key.expires_at),
        "lastUsedAt": time(key.last_used_at),
        "revokedAt": time(key.revoked_at),
    }
