"""/v1/secrets: values go in, and never come out again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from executor.network.addresses import parse
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.policy_drafts import names
from executor.surfaces.api.schemas.requests import AllowedOrigin, NewSecret, RotatedSecret
from executor.surfaces.views import credentials as views

router = APIRouter(prefix="/v1/secrets", route_class=EdgeRoute, tags=["secrets"], responses=PROBLEMS)


@router.get("")
@needs("administer")
async def listing(here: Context) -> Answer[views.SecretPage]:
    """List secrets with their providers and the connections that use them. No route returns a value."""
    found = await here.executor.secrets.listing(here.workspace_id)
    wired = await here.executor.connections.listing(here.actor)
    known = await names(here)
    return answer(
        {"items": [{**views.secret_view(secret), "usedBy": views.used_by(secret, wired, known)} for secret in found]}
    )


@router.post("", status_code=201)
@creates
@needs("administer")
async def add(here: Context, body: NewSecret) -> Answer[views.SecretView]:
    """Create a secret. `value` is for the store and the keyring, `reference` for external providers."""
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
    """Create a new master key and a new data key, and encrypt everything again."""
    count = await here.executor.secrets.rotate_key(workspace_id=here.workspace_id, by=here.actor)
    return answer({"values": count})


@router.post("/{name}/rotate")
@needs("administer")
async def rotate(here: Context, name: str, body: RotatedSecret) -> Answer[views.SecretView]:
    """Set a new value. Approvals given for the old one no longer apply."""
    value = body.value.get_secret_value()
    rotated = await here.executor.secrets.rotate(
        here.workspace_id, name, value, by=here.actor, reference=body.reference
    )
    return answer(views.secret_view(rotated))


@router.post("/{name}/origins")
@needs("administer")
async def allow_origin(here: Context, name: str, body: AllowedOrigin) -> Answer[views.SecretView]:
    """Allow one more scheme, host and port that the secret may be sent to, besides that of its first use."""
    origin = parse(body.origin).origin if "://" in body.origin else body.origin
    return answer(
        views.secret_view(await here.executor.secrets.allow_origin(here.workspace_id, name, origin, by=here.actor))
    )


@router.delete("/{name}")
@needs("administer")
async def remove(here: Context, name: str, force: Annotated[bool, Query()] = False) -> Answer[views.SecretView]:
    """Remove a secret. Refused while a connection uses it, unless `force`."""
    return answer(
        views.secret_view(await here.executor.secrets.remove(here.workspace_id, name, by=here.actor, force=force))
    )
