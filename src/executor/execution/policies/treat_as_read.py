"""`Treat as a read`: a policy that allows a tool like a read, because a person says that it is one.

The tool's effect does not change: a call whose answer is lost is still never sent twice, and policies for writes apply.
"""

from __future__ import annotations

from dataclasses import replace

from executor.errors import Conflict, InvalidRequest
from executor.execution.approvals.prompt import shown_address
from executor.execution.builtins import tools
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.policies.always import Always, add_policy, check_permitted, is_same
from executor.model.identity.actor import Actor
from executor.model.policy import MadeFor, Policy
from executor.model.tool import Tool
from executor.policy.decide import decide
from executor.policy.drafts import draft
from executor.sources.mcp.tools.hints import claims_to_read
from executor.sources.tool_names import words

READING = frozenset(
    {
        "search", "list", "query", "find", "get", "lookup", "look", "read", "fetch", "count", "freebusy", "check",
        "show", "view", "describe", "preview", "estimate", "calculate", "filter", "export", "suggest", "match",
        "evaluate", "compare", "translate", "summarize", "retrieve", "browse", "scan",
    }
)  # fmt: skip
WRITING = frozenset(
    {
        "create", "update", "delete", "set", "send", "add", "remove", "put", "patch", "write", "insert", "replace",
        "upsert", "import", "upload", "move", "copy", "cancel", "close", "start", "stop", "run", "execute", "apply",
        "assign", "approve", "archive", "merge", "pay", "charge", "refund", "reset", "revoke", "publish", "submit",
        "register",
    }
)  # fmt: skip


async def draft_read_policy(pipeline: CallPipeline, workspace_id: str, tool: Tool, actor_id: str) -> Always:
    """The policy for the tool as it is now, for every caller. It never comes before another policy."""
    if why := unfit(tool):
        raise InvalidRequest(f"{tool.path} can't be treated as a read: {why}", hint="allow it with `always` instead")
    subject = await pipeline.admissions.subject(tool, actor_id, None)
    in_force = await pipeline.policies.of(workspace_id)
    source = await pipeline.catalog.source_of(tool)
    made_for = MadeFor(
        await pipeline.bindings.destination_for(source, tool),
        frozenset({tool.schema_digest}),
        shown_address(source),
        basis="read",
    )
    policy = draft(tool.path, "allow", owner_id=workspace_id, source_id=tool.source_id, effect=tool.effect)
    policy = replace(policy, made_for=made_for)
    renews = next((one for one in in_force.policies if is_same(one, policy)), None)
    others = [one for one in in_force.policies if one is not renews]
    after = decide(subject, [*others, replace(policy, id=renews.id if renews else "pol_draft")])
    if after.action != "allow":
        hint = "change that policy, or approve the call"
        raise Conflict(f"another policy decides about {tool.path}: {after.reason}", hint=hint)
    return Always(policy, None, in_force.revision, after, renews)


async def add_read_policy(pipeline: CallPipeline, tool: Tool, *, by: Actor) -> Policy:
    always = await draft_read_policy(pipeline, by.workspace_id, tool, by.id)
    check_permitted(by, always.policy)
    return await pipeline.database.write(lambda c: add_policy(c, by.workspace_id, always, by=by))


def unfit(tool: Tool) -> str:
    """Why no one can call it a read; empty if a person may."""
    if tool.effect == "read":
        return "it already is one"
    if tool.source_id == tools.SOURCE:
        return "it changes what Executor may reach"
    if tool.known_keys.get("type") in ("mutation", "raw"):
        return "it sends GraphQL mutations"
    method = tool.known_keys.get("method")
    return f"it sends {method}" if method not in (None, "POST") else ""


def suggestion(tool: Tool) -> str:
    """For the approver: that it looks like a read. Never more than words."""
    if unfit(tool):
        return ""
    if claims_to_read(tool.known_keys):
        return "the server says that it only reads; if you are sure, treat it as a read"
    named = {word.lower() for segment in tool.path.split(".")[1:] for word in words(segment)}
    flat = {segment.lower() for segment in tool.path.split(".")[1:]}
    if (named | flat) & READING and not named & WRITING:
        return "its name suggests that it only reads; if you are sure, treat it as a read"
    return ""
