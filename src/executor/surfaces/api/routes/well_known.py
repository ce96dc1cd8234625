"""/.well-known: where a client of `/mcp` finds the authorization server whose tokens are taken there."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from executor.daemon.wiring.executor import Executor
from executor.errors import NotFound
from executor.identity.oidc.issuer import Issuer
from executor.surfaces.api.context import Context, EdgeRoute, public
from executor.surfaces.api.json_response import answer

router = APIRouter(prefix="/.well-known", route_class=EdgeRoute, include_in_schema=False)


@router.get("/oauth-protected-resource/mcp")
@router.get("/oauth-protected-resource")
@public
async def protected_resource(here: Context) -> Response:
    """RFC 9728: the resource `/mcp`, who issues tokens for it, and which scopes they need."""
    issuer, settings = issuer_of(here.executor), here.executor.settings
    return answer(
        {
            "resource": settings.resource,
            "resource_name": "Executor",
            "authorization_servers": [issuer.url],
            "scopes_supported": list(settings.mcp_scopes),
            "bearer_methods_supported": ["header"],
        }
    )


@router.get("/oauth-authorization-server")
@public
async def authorization_server(here: Context) -> Response:
    """RFC 8414, exactly as the authorization server publishes it: older clients look for it here."""
    return answer(dict(await issuer_of(here.executor).metadata()))


def issuer_of(executor: Executor) -> Issuer:
    if executor.issuers.mcp is None:
        raise NotFound("not found", hint="an operator can set an authorization server: mcp_issuer")
    return executor.issuers.mcp
