"""/v1/secrets: values go in, and never come out again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from executor.network.addresses import parse
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.policy_drafts import names
from executor.surfaces.api.schemas.requests import AllowedOrigin, NewSecret, RotatedSecret
from executor.surfaces.views import credentials as views

router = APIRouter(prefix="/v1/secrets", route_class=EdgeRoute, tags=["secrets"], responses=PROBLEMS)


@router.get("")
@needs("administer")
async def listing(here: Context) -> Answer[views.SecretPage]:
    """Names, where their values are kept, and which connections use them; no route answers a value."""
    found = await here.executor.secrets.listing(here.workspace_id)
    wired = await here.executor.connections.listing(here.actor)
    known = await names(here)
    return answer(
        {"items": [{**views.secret_view(secret), "usedBy": views.used_by(secret, wired, known)} for secret in found]}
    )


@router.post("", status_code=201)
@needs("administer")
async def add(here: Context, body: NewSecret) -> Answer[views.SecretView]:
    """`value` is for the store and the keyring, `reference` for the other providers: where the value is there."""
    secret = await here.executor.secrets.set(
        here.workspace_id,
        body.name,
        body.value.get_secret_value(),
        by=here.actor,
        provider=body.provider,
        reference=body.reference,
    )
    return answer(views.secret_view(secret), 201)


@router.post("/rotate-key")
@needs("operate")
async def rotate_key(here: Context) -> Answer[views.KeyRotated]:
    """A new master key and a new data key: everything that is sealed is sealed anew."""
    count = await here.executor.secrets.rotate_key(workspace_id=here.workspace_id, by=here.actor)
    return answer({"values": count})


@router.post("/{name}/rotate")
@needs("administer")
async def rotate(here: Context, name: str, body: RotatedSecret) -> Answer[views.SecretView]:
    """A new value under the same name. What was approved with the old one is asked again."""
    value = body.value.get_secret_value()
    rotated = await here.executor.secrets.rotate(
        here.workspace_id, name, value, by=here.actor, reference=body.reference
    )
    return answer(views.secret_view(rotated))


@router.post("/{name}/origins")
@needs("administer")
async def allow_origin(here: Context, name: str, body: AllowedOrigin) -> Answer[views.SecretView]:
    """Let it be sent to one more scheme, host and port, besides that of its first use."""
    origin = parse(body.origin).origin if "://" in body.origin else body.origin
    return answer(
        views.secret_view(await here.executor.secrets.allow_origin(here.workspace_id, name, origin, by=here.actor))
    )


@router.delete("/{name}")
@needs("administer")
async def remove(here: Context, name: str, force: Annotated[bool, Query()] = False) -> Answer[views.SecretView]:
    """Refused while a connection uses it, unless `force`."""
    return answer(
        views.secret_view(await here.executor.secrets.remove(here.workspace_id, name, by=here.actor, force=force))
    )
