"""/v1/toolkits: named, narrowed views of the catalog, and the keys that reach only one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from executor.execution.toolkits.draft import ToolkitDraft, draft_policy
from executor.execution.toolkits.reach import Reach
from executor.model.policy import Policy
from executor.model.toolkit import Toolkit
from executor.surfaces.api import agent_tokens
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.etag import IF_MATCH, TAGGED, etag, expected_version, precondition
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.toolkits import NewToolkit, NewToolkitKey, ToolkitChange, ToolkitPolicy
from executor.surfaces.views import toolkits as views

router = APIRouter(prefix="/v1/toolkits", route_class=EdgeRoute, tags=["toolkits"], responses=PROBLEMS)


@router.get("")
@needs("read")
async def listing(here: Context) -> Answer[views.ToolkitPage]:
    """List the toolkits of the workspace."""
    found = await here.executor.toolkits.listing(here.actor)
    return answer({"items": [view(here, *one) for one in found]})


@router.post("", status_code=201)
@needs("administer")
@creates
async def add(here: Context, body: NewToolkit) -> Answer[views.ToolkitView]:
    """Create a toolkit. Its MCP endpoint is `/mcp/toolkits/{slug}`."""
    fields = body.model_dump(exclude={"policies", "patterns", "pass_through"})
    draft = ToolkitDraft(
        **fields,
        patterns=tuple(body.patterns),
        pass_through=tuple(body.pass_through),
        policies=read_policies(body.policies),
    )
    added = await here.executor.toolkits.add(here.actor, draft)
    return answer(view(here, *added), 201, {"Location": f"/v1/toolkits/{added[0].id}"})


@router.get("/{toolkit}", responses=TAGGED)
@needs("read")
async def show(here: Context, toolkit: str) -> Answer[views.ToolkitView]:
    """Get a toolkit by its slug or ID. Its `ETag`, which is its revision, goes into the `If-Match` of an edit."""
    found = view(here, *await here.executor.toolkits.show(here.actor, toolkit))
    return answer(found, headers=etag(found["revision"]))


@router.patch("/{toolkit}", openapi_extra=IF_MATCH)
@needs("administer")
async def change(here: Context, toolkit: str, body: ToolkitChange) -> Answer[views.ToolkitView]:
    """Change the fields you pass. It takes effect at once, also for executions that are paused."""
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name in body.model_fields_set - {"revision"}
        if (value := getattr(body, name)) is not None
    }
    if body.policies is not None:
        given["policies"] = read_policies(body.policies)
    version = expected_version(here)
    with precondition(version):
        changed = await here.executor.toolkits.change(
            here.actor, toolkit, lambda before: replace(before, **given), revision=version or body.revision
        )
    shown = view(here, *changed)
    return answer(shown, headers=etag(shown["revision"]))


@router.delete("/{toolkit}", status_code=204)
@needs("administer")
async def remove(here: Context, toolkit: str) -> Response:
    """Remove a toolkit and revoke its keys. Executions in it call nothing more, also those that are paused."""
    await here.executor.toolkits.remove(here.actor, toolkit)
    return Response(status_code=204)


@router.get("/{toolkit}/tools")
@needs("read")
async def tools(
    here: Context,
    toolkit: str,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    after: Annotated[str, Query(max_length=500)] = "",
) -> Answer[views.ToolkitToolPage]:
    """List the tools in a toolkit by path, each with the name that clients call it by if it is passed through. `next`
    is the `after` of the following page."""
    _, reach = await here.executor.toolkits.show(here.actor, toolkit)
    rest = [one for one in reach.tools if one.path > after]
    page = rest[:limit]
    following = page[-1].path if len(rest) > limit else None
    return answer({"items": [views.tool_view(one) for one in page], "next": following})


@router.get("/{toolkit}/keys")
@needs("read")
async def list_keys(here: Context, toolkit: str) -> Answer[views.ToolkitKeyPage]:
    """List the keys of a toolkit, also those that were revoked."""
    found = await here.executor.toolkits.list_keys(here.actor, toolkit)
    return answer({"items": [views.key_view(one) for one in found]})


@router.post("/{toolkit}/keys", status_code=201)
@needs("administer")
@creates
async def create_key(here: Context, toolkit: str, body: NewToolkitKey) -> Answer[views.NewToolkitKeyView]:
    """Create an agent whose token reaches this toolkit alone. Only this answer has the token."""
    found = await here.executor.toolkits.find(here.actor, toolkit)
    agent, token = await agent_tokens.create_agent(
        here, body.name, body.expires_in_days, is_kept=body.keep_token, toolkit_id=found.id
    )
    assert agent.key is not None  # noqa: S101 - it was just created with one
    return answer({**views.key_view(agent.key), "token": token}, 201)


@router.delete("/{toolkit}/keys/{key_id}", status_code=204)
@needs("administer")
async def revoke_key(here: Context, toolkit: str, key_id: str) -> Response:
    """Revoke a key. What runs with it calls nothing more."""
    await here.executor.toolkits.revoke_key(here.actor, toolkit, key_id)
    return Response(status_code=204)


def view(here: Context, toolkit: Toolkit, reach: Reach) -> views.ToolkitView:
    return views.toolkit_view(toolkit, reach, here.executor.settings.address)


def read_policies(given: list[ToolkitPolicy]) -> tuple[Policy, ...]:
    return tuple(draft_policy(one.model_dump()) for one in given)
