"""What an approver should know besides the call: which policies apply to it, and which no longer do and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from executor.execution.approvals.prompt import shown_address
from executor.execution.builtins.source_arguments import PATH as ADD_SOURCE
from executor.execution.calls.arguments import parse_arguments
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.policies.treat_as_read import suggestion
from executor.model.execution import Call, Execution
from executor.model.policy import MadeFor, Policy
from executor.model.tool import Tool
from executor.policy.decide import find_outdated
from executor.policy.drafts import text
from executor.sources.mcp.tools.hints import claims_to_read
from executor.storage.catalog.policies import names_namespace

MOST_POLICIES = 20


async def notices_of(pipeline: CallPipeline, execution: Execution, call: Call, tool: Tool) -> dict[str, Any]:
    """For the prompt: `changed` if a policy allowed the tool as it was, the policies around a source to be added."""
    arguments = parse_arguments(call.arguments)
    policies = (await pipeline.policies.of(execution.workspace_id)).policies
    if tool.path == ADD_SOURCE:
        namespace = str(arguments.get("namespace", ""))
        found = [text(policy) for policy in policies if names_namespace(policy, namespace)]
        more = [f"and {len(found) - MOST_POLICIES} more"] if len(found) > MOST_POLICIES else []
        return {"namespace": namespace, "rules": [*found[:MOST_POLICIES], *more]}
    looks = suggestion(tool)
    advice = {"suggestion": looks} if looks else {}
    policy = find_outdated(
        await pipeline.admissions.subject(tool, execution.actor_id, arguments),
        [one for one in policies if is_for(one, tool)],
    )
    if policy is None or policy.made_for is None:
        return advice
    return {
        **advice,
        "changed": await _describe_change(pipeline, execution.workspace_id, tool, policy, policy.made_for),
    }


def is_for(policy: Policy, tool: Tool) -> bool:
    """A policy about a server's hints is for what it says only reads, and for nothing else of it."""
    hinted = policy.made_for is not None and policy.made_for.basis == "hints"
    return not hinted or claims_to_read(tool.known_keys)


async def _describe_change(
    pipeline: CallPipeline, workspace_id: str, tool: Tool, policy: Policy, made_for: MadeFor
) -> dict[str, Any]:
    """How the tool differs from the one that the policy was created for; `isNew` if the path did not exist then."""
    from executor.sources.lifecycle import revisions

    found = await pipeline.database.read(lambda c: revisions.since(c, workspace_id, made_for.digests, tool))
    source = await pipeline.bindings.source_of(workspace_id, tool)
    differences = [asdict(one) for one in found.found] if found is not None else []
    if source is not None and made_for.destination != await pipeline.bindings.destination_for(source, tool):
        now = shown_address(source)
        differences.insert(0, {"at": "destination", "what": "address", "was": made_for.host, "now": now})
    return {
        "policyId": policy.id,
        "rule": text(policy),
        "isNew": found is None,
        "differences": differences,
        "cut": found is not None and found.cut,
    }
