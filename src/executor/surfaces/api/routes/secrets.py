"""/v1/secrets: values go in, and never come out again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from executor.execution.names import Names
from executor.model.connection import Connection
from executor.model.secret import Secret
from executor.network.addresses import parse
from executor.surfaces import views
from executor.surfaces.api.context import EdgeRoute, context, needs
from executor.surfaces.api.json_response import PROBLEMS, answer
from executor.surfaces.api.policy_drafts import names
from executor.surfaces.api.schemas.credentials import KeyRotated, SecretPage, SecretView
from executor.surfaces.api.schemas.requests import AllowedOrigin, NewSecret, RotatedSecret

router = APIRouter(prefix="/v1/secrets", route_class=EdgeRoute, tags=["secrets"], responses=PROBLEMS)


@router.get("", response_model=SecretPage)
@needs("administer")
async def listing(request: Request) -> Response:
    """Names, where their values are kept, and which connections use them; no route answers a value."""
    here = context(request)
    found = await here.executor.secrets.listing(here.workspace_id)
    wired = await here.executor.connections.listing(here.actor)
    known = await names(here)
    items = [{**secret_view(secret), "usedBy": used_by(secret, wired, known)} for secret in found]
    return answer({"items": items})


@router.post("", status_code=201, response_model=SecretView)
@needs("administer")
async def add(request: Request, body: NewSecret) -> Response:
    """`value` is for the store and the keyring, `reference` for the other providers: where the value is there."""
    here = context(request)
    secret = await here.executor.secrets.set(
        here.workspace_id,
        body.name,
        body.value.get_secret_value(),
        by=here.actor,
        provider=body.provider,
        reference=body.reference,
    )
    return answer(secret_view(secret), 201)


@router.post("/rotate-key", response_model=KeyRotated)
@needs("operate")
async def rotate_key(request: Request) -> Response:
    """A new master key and a new data key: everything that is sealed is sealed anew."""
    here = context(request)
    count = await here.executor.secrets.rotate_key(workspace_id=here.workspace_id, by=here.actor)
    return answer({"values": count})


@router.post("/{name}/rotate", response_model=SecretView)
@needs("administer")
async def rotate(request: Request, name: str, body: RotatedSecret) -> Response:
    """A new value under the same name. What was approved with the old one is asked again."""
    here = context(request)
    value = body.value.get_secret_value()
    rotated = await here.executor.secrets.rotate(
        here.workspace_id, name, value, by=here.actor, reference=body.reference
    )
    return answer(secret_view(rotated))


@router.post("/{name}/origins", response_model=SecretView)
@needs("administer")
async def allow_origin(request: Request, name: str, body: AllowedOrigin) -> Response:
    """Let it be sent to one more scheme, host and port, besides that of its first use."""
    here = context(request)
    origin = parse(body.origin).origin if "://" in body.origin else body.origin
    return answer(secret_view(await here.executor.secrets.allow_origin(here.workspace_id, name, origin, by=here.actor)))


@router.delete("/{name}", response_model=SecretView)
@needs("administer")
async def remove(request: Request, name: str, force: Annotated[bool, Query()] = False) -> Response:
    """Refused while a connection uses it, unless `force`."""
    here = context(request)
    return answer(secret_view(await here.executor.secrets.remove(here.workspace_id, name, by=here.actor, force=force)))


def used_by(secret: Secret, wired: Sequence[tuple[Connection, str]], known: Names) -> list[views.View]:
    return [
        {
            "connectionId": one.id,
            "connection": one.name,
            "source": namespace,
            "actor": known.actors.get(one.actor_id, one.actor_id) or None,
            "status": one.status,
        }
        for one, namespace in wired
        if secret.id in one.inputs.values()
    ]


def secret_view(secret: Secret) -> views.View:
    return {
        "id": secret.id,
        "name": secret.name,
        "provider": secret.provider,
        "reference": secret.reference if secret.provider not in ("store", "keyring") else None,
        "origins": list(secret.origins),
        "createdAt": views.time(secret.created_at),
        "rotatedAt": views.time(secret.rotated_at),
        "lastUsedAt": views.time(secret.last_used_at),
    }
