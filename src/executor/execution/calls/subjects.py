"""Calls as policies judge them: by what would be sent, and by every tool that this is a call of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executor.catalog.catalog import Catalog
from executor.errors import EgressRefused, ToolError
from executor.execution.builtins import tools
from executor.execution.policies.cache import PoliciesInForce
from executor.model.digest import digest, plain_numbers
from executor.model.source import Source
from executor.model.tool import ALL, Tool
from executor.network.addresses import display_url
from executor.network.client import Outgoing, same_place
from executor.policy.conditions import Arguments
from executor.policy.decide import Subject, decide
from executor.sources.kind import Part


async def meaning_of(
    catalog: Catalog, source: Source, tool: Tool, actor_id: str, arguments: dict[str, Any]
) -> tuple[Mapping[str, Any] | None, tuple[Subject, ...]]:
    """The arguments in the one form that conditions are judged by, and the calls that they hold.

    Arguments that can't be sent as they are have no meaning, and so no condition can be judged by them.
    """
    try:
        meaning = await catalog.meaning(tool, arguments)
    except ToolError:
        return None, ()
    given = meaning.arguments if meaning.body is None else Arguments(meaning.arguments, meaning.body)
    if not meaning.parts:
        return given, ()
    fields = (await catalog.operations(source)).fields
    return given, tuple(
        Subject(path, part.effect, tool.source_id, actor_id, part.arguments)
        for part in meaning.parts
        for path in paths_of(source.namespace, part, fields)
    )


def paths_of(namespace: str, part: Part, fields: dict[str, str]) -> list[str]:
    """That of its tool, and the one its own name would have: policies apply to a field that has no tool as well."""
    return list(filter(None, dict.fromkeys([fields.get(part.operation), f"{namespace}.{part.operation}"])))


async def keys_of(catalog: Catalog, tool: Tool, arguments: dict[str, Any]) -> list[str]:
    """Equal for calls that would do the same: that of the call first, then those of the calls it holds."""
    if tool.source_id == tools.SOURCE:
        return [digest([tool.path, plain_numbers(arguments)])]
    try:
        identity, parts = await catalog.identity(tool, arguments), (await catalog.meaning(tool, arguments)).parts
    except ToolError:
        return [digest([tool.path, plain_numbers(arguments)])]
    held = [[part.operation, part.arguments] for part in parts]
    return [digest([tool.source_id, plain_numbers(one)]) for one in (identity, *held)]


async def check_following(
    catalog: Catalog, in_force: PoliciesInForce, actor_id: str, tool: Tool, before: Outgoing, after: Outgoing
) -> None:
    """Raises EgressRefused if a request leads on to a tool that this actor may not call without being asked.

    Its arguments are not known then, nor what policies were made for, so all of that is in doubt. The tool itself may
    continue at its own address.
    """
    source = await catalog.source_of(tool)
    for one in (await catalog.operations(source)).at(after.method, after.url):
        if one.path == tool.path.removesuffix(ALL) and is_same_call(tool, before, after):
            continue
        if in_force.hides(one.path, one.effect):
            raise EgressRefused(
                f"{display_url(before.url)} leads to {display_url(after.url)}, which is not in this toolkit",
                hint="the redirect was not followed",
                sent=True,
            )
        unknown = Subject(one.path, one.effect, tool.source_id, actor_id, schema_digest="", own_path=one.own_path)
        decision = decide(unknown, in_force.policies)
        if decision.action != "allow":
            raise EgressRefused(
                f"{display_url(before.url)} leads to {display_url(after.url)}, which is {one.path}: {decision.reason}",
                hint=f"the redirect was not followed; call tools.{one.path} directly if you need it",
                sent=True,
            )


def is_same_call(tool: Tool, before: Outgoing, after: Outgoing) -> bool:
    """Pages of a list differ in their query."""
    if tool.path.endswith(ALL):
        before, after = (Outgoing(one.method, one.url.partition("?")[0]) for one in (before, after))
    return before.method == after.method and same_place(before.url, after.url)
