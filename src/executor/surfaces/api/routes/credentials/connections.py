"""/v1/connections: credentials wired to sources. What they are made of goes in, and never comes out again."""

from __future__ import annotations

from fastapi import APIRouter

from executor.connections.new_connection import Offer, pinned_origin
from executor.connections.origin import describe_origin
from executor.connections.resolution import ways_of
from executor.execution.approvals.credentials import resume_waiting
from executor.execution.connection_tests import ConnectionCheck
from executor.sources.lifecycle.persistence import present
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.requests import NewConnection, Provided
from executor.surfaces.views import credentials as views

router = APIRouter(prefix="/v1", route_class=EdgeRoute, tags=["connections"], responses=PROBLEMS)


@router.get("/connections")
@needs("read")
async def listing(here: Context) -> Answer[views.ConnectionPage]:
    """List the connections of the workspace and your own; admins see all of them."""
    found = await here.executor.connections.listing(here.actor)
    return answer({"items": [views.connection_view(one, namespace) for one, namespace in found]})


@router.post("/connections", status_code=201)
@creates
@needs("connect")
async def add(here: Context, body: NewConnection) -> Answer[views.ConnectionView]:
    """Create a connection. For the whole workspace it needs `administer`. Calls that wait for it continue, and a source
    that could not be read without it is refreshed."""
    source = await present(here.executor.database, here.workspace_id, body.source)
    made = await here.executor.connections.add(source, offer_of(body, body.replace), by=here.actor)
    await resume_waiting(here.executor.engine, made, by=here.actor)
    if source.status == "failing" and here.actor.may("administer"):
        here.executor.catalog.lifecycle.source_changed(source.id)
    return answer(views.connection_view(made, source.namespace), 201)


@router.get("/sources/{source}/ways")
@needs("connect")
async def ways(here: Context, source: str) -> Answer[views.WayPage]:
    """Get the credentials that a source accepts, and where they would be sent."""
    found = await present(here.executor.database, here.workspace_id, source)
    origin = describe_origin(pinned_origin(found), found)
    return answer({"items": [way.view() for way in ways_of(found, None)], "sentTo": origin})


@router.get("/connections/{connection_id}")
@needs("read")
async def show(here: Context, connection_id: str) -> Answer[views.ConnectionView]:
    """Get a connection, without its values."""
    return answer(views.connection_view(*await here.executor.connections.get(here.actor, connection_id)))


@router.delete("/connections/{connection_id}")
@needs("connect")
async def remove(here: Context, connection_id: str) -> Answer[views.ConnectionView]:
    """Remove a connection and the values entered for it. Named secrets are kept."""
    _, namespace = await here.executor.connections.get(here.actor, connection_id)
    return answer(views.connection_view(await here.executor.connections.remove(here.actor, connection_id), namespace))


@router.post("/connections/{connection_id}/test")
@needs("connect")
async def test(here: Context, connection_id: str) -> Answer[views.ConnectionTest]:
    """Test whether the service accepts the credential. Executor only calls what changes nothing: a read without
    arguments that the policies allow, or the listing of the source. `ok` is true only if the service answers with
    the credential and refuses without it."""
    connection, namespace = await here.executor.connections.get(here.actor, connection_id)
    source = await present(here.executor.database, here.workspace_id, namespace)
    found = await ConnectionCheck(
        here.executor.pipeline, here.executor.connections, here.actor, source, connection
    ).run()
    return answer(
        {
            "ok": found.outcome == "ok",
            "outcome": found.outcome,
            "checked": found.checked,
            "error": found.error or None,
            "hint": found.hint or None,
        }
    )


def offer_of(body: Provided, replace: bool = False) -> Offer:
    return Offer(
        values={name: value.get_secret_value() for name, value in body.values_.items()},
        secrets=body.secrets,
        way=body.way,
        placements=[{"in": one.place, "name": one.name, "template": one.template} for one in body.placements],
        name=body.name,
        scope=body.scope,
        replace=replace,
        allow_origin=body.allow_origin,
    )
