"""/v1/model-keys: which secret serves a model provider. Values go in, and never come out again."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.requests import NewModelKey
from executor.surfaces.views import credentials as views

router = APIRouter(prefix="/v1/model-keys", route_class=EdgeRoute, tags=["model keys"], responses=PROBLEMS)


@router.get("")
@needs("connect")
async def listing(here: Context) -> Answer[views.ModelKeyPage]:
    """List the model keys of the workspace and your own. No route returns a value."""
    keys = here.executor.model_keys
    found = await keys.listing(here.actor)
    return answer({"items": [views.model_key_view(key, secret, keys.origins[key.provider]) for key, secret in found]})


@router.post("", status_code=201)
@needs("connect")
async def set_key(here: Context, body: NewModelKey) -> Answer[views.ModelKeyView]:
    """Set the key for a provider, for the workspace or for yourself. Replaces the one set before."""
    keys = here.executor.model_keys
    key, secret = await keys.set(
        body.provider, body.scope, value=body.value.get_secret_value(), secret=body.secret, by=here.actor
    )
    return answer(views.model_key_view(key, secret, keys.origins[key.provider]), 201)


@router.delete("/{provider}", status_code=204)
@needs("connect")
async def remove(
    here: Context, provider: str, scope: Annotated[Literal["workspace", "actor"], Query()] = "workspace"
) -> Response:
    """Remove the key for a provider. A named secret that served it is kept."""
    await here.executor.model_keys.remove(provider, scope, by=here.actor)
    return Response(status_code=204)
