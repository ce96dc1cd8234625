"""/v1/connections: credentials wired to sources. What they are made of goes in, and never comes out again."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from executor.connections.new_connection import Offer, pinned_origin
from executor.connections.origin import describe_origin
from executor.connections.resolution import ways_of
from executor.execution.approvals.credentials import settle_waiting
from executor.execution.connection_tests import ConnectionCheck
from executor.model.connection import Connection
from executor.sources.lifecycle.persistence import present
from executor.surfaces import views
from executor.surfaces.api.context import EdgeRoute, context, needs
from executor.surfaces.api.json_response import PROBLEMS, answer
from executor.surfaces.api.schemas.credentials import ConnectionPage, ConnectionTest, ConnectionView, WayPage
from executor.surfaces.api.schemas.requests import NewConnection, Provided

router = APIRouter(prefix="/v1/connections", route_class=EdgeRoute, tags=["connections"], responses=PROBLEMS)


@router.get("", response_model=ConnectionPage)
@needs("read")
async def listing(request: Request) -> Response:
    """Those of the workspace and one's own; an admin sees all of them."""
    here = context(request)
    found = await here.executor.connections.listing(here.actor)
    return answer({"items": [connection_view(one, namespace) for one, namespace in found]})


@router.post("", status_code=201, response_model=ConnectionView)
@needs("connect")
async def add(request: Request, body: NewConnection) -> Response:
    """For the whole workspace it needs `administer`. Calls that wait for it go on; a source that lacked it is read."""
    here = context(request)
    source = await present(here.executor.database, here.workspace_id, body.source)
    made = await here.executor.connections.add(source, offer_of(body, body.replace), by=here.actor)
    await here.executor.engine.settle_by(lambda c: settle_waiting(c, made, by=here.actor))
    if source.status == "failing" and here.actor.may("administer"):
        here.executor.catalog.lifecycle.source_changed(source.id)
    return answer(connection_view(made, source.namespace), 201)


@router.get("/ways/{source}", response_model=WayPage)
@needs("connect")
async def ways(request: Request, source: str) -> Response:
    """What a source takes, and where it would be sent."""
    here = context(request)
    found = await present(here.executor.database, here.workspace_id, source)
    origin = describe_origin(pinned_origin(found), found)
    return answer({"items": [way.view() for way in ways_of(found, None)], "sentTo": origin})


@router.get("/{connection_id}", response_model=ConnectionView)
@needs("read")
async def show(request: Request, connection_id: str) -> Response:
    here = context(request)
    return answer(connection_view(*await here.executor.connections.get(here.actor, connection_id)))


@router.delete("/{connection_id}", response_model=ConnectionView)
@needs("connect")
async def remove(request: Request, connection_id: str) -> Response:
    """With the values that were entered for it; a secret that has a name of its own stays."""
    here = context(request)
    _, namespace = await here.executor.connections.get(here.actor, connection_id)
    return answer(connection_view(await here.executor.connections.remove(here.actor, connection_id), namespace))


@router.post("/{connection_id}/test", response_model=ConnectionTest)
@needs("connect")
async def test(request: Request, connection_id: str) -> Response:
    """Does the service accept it? Only what changes nothing is asked: a read without arguments that the rules allow, or
    the listing of the source. `ok` is true only if the service answers with it and refuses without it.
    """
    here = context(request)
    connection, namespace = await here.executor.connections.get(here.actor, connection_id)
    source = await present(here.executor.database, here.workspace_id, namespace)
    found = await ConnectionCheck(
        here.executor.pipeline, here.executor.connections, here.actor, source, connection
    ).run()
    told = {"checked": found.checked, "error": found.error or None, "hint": found.hint or None}
    return answer({"ok": found.outcome == "ok", "outcome": found.outcome, **told})


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


def connection_view(connection: Connection, namespace: str) -> views.View:
    return {
        "id": connection.id,
        "source": namespace,
        "name": connection.name,
        "scope": "actor" if connection.actor_id else "workspace",
        "actorId": connection.actor_id or None,
        "scheme": connection.scheme,
        "origin": connection.origin,
        "places": [f"{one['in']} {one['name']}" for one in connection.options.get("placements", ())],
        "status": connection.status,
        "error": connection.error or None,
        "revision": connection.revision,
        "createdBy": connection.created_by,
        "createdAt": views.time(connection.created_at),
        "updatedAt": views.time(connection.updated_at),
        "lastUsedAt": views.time(connection.last_used_at),
    }
