"""Which modules have the routes below an address. Each is imported when one of its addresses is first requested.

All of them take 10 MB and 0.2 s of CPU time, and most daemons need few.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Final

from starlette.routing import BaseRoute, Router

PACKAGE: Final = "executor.surfaces.api"
# By the beginning of the address. Routes are matched in this order.
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "/v1/executions": ("routes.executions.executions",),
    "/v1/artifacts": ("routes.executions.artifacts",),
    "/v1/interactions": ("routes.executions.interactions",),
    "/v1/sources": (
        "routes.catalog.sources",
        "routes.catalog.source_settings",
        "routes.catalog.source_history",
        "routes.catalog.source_reviews",
        "routes.catalog.inspection",
        "routes.credentials.connections",
    ),
    "/v1/templates": ("routes.catalog.templates",),
    "/v1/tools": ("routes.catalog.tools",),
    "/v1/tool-versions": ("routes.catalog.tools",),
    "/v1/catalog": ("routes.catalog.catalog", "routes.catalog.inspection"),
    "/v1/policies": ("routes.policies",),
    "/v1/toolkits": ("routes.toolkits",),
    "/v1/configuration": ("routes.configuration",),
    "/v1/events": ("routes.executions.events",),
    "/v1/audit": ("routes.audit",),
    "/healthz": ("routes.status",),
    "/readyz": ("routes.status",),
    "/v1/status": ("routes.status",),
    "/v1/doctor": ("routes.status",),
    "/v1/secrets": ("routes.credentials.secrets",),
    "/v1/model-keys": ("routes.credentials.model_keys",),
    "/v1/connections": ("routes.credentials.oauth", "routes.credentials.connections"),
    "/oauth": ("oauth_pages",),
    "/v1/auth": ("routes.identity.auth", "routes.identity.oidc", "routes.identity.visitors"),
    "/.well-known": ("routes.well_known",),
    "/v1/webhooks": ("routes.webhooks",),
    "/v1/anonymous": ("routes.identity.anonymous",),
    "/v1/keys": ("routes.identity.keys",),
    "/v1/agents": ("routes.identity.keys",),
    "/v1/clients": ("routes.identity.clients",),
    "/v1/workspaces": ("routes.identity.workspaces",),
    "/v1/organizations": ("routes.identity.workspaces",),
    "/v1/separation": ("routes.identity.workspaces",),
    "/v1/members": ("routes.identity.members",),
    "/v1/invitations": ("routes.identity.members",),
    "/v1/limits": ("routes.identity.limits",),
    "/v1/sessions": (
        "routes.sessions.messages",
        "routes.sessions.sessions",
        "routes.sessions.prompts",
        "routes.sessions.changes",
        "routes.sessions.terminals",
    ),
    "/sessions": ("routes.sessions.prompts",),
}
NAMES: Final = tuple(dict.fromkeys(chain.from_iterable(MODULES.values())))


def beginning(path: str) -> str:
    """`/v1/sources` of `/v1/sources/github/tools`, `/oauth` of `/oauth/callback`."""
    parts = path.split("/", 3)
    return "/".join(parts[: 3 if parts[1:2] == ["v1"] else 2])


def import_routes(name: str) -> list[BaseRoute]:
    routes: list[BaseRoute] = import_module(f"{PACKAGE}.{name}").router.routes
    return routes


class RouteModules:
    """Adds the routes of modules to those that `router` has of its own."""

    def __init__(self, router: Router) -> None:
        self._router, self._own = router, list(router.routes)
        self._loaded: dict[str, list[BaseRoute]] = {}
        self._lock = threading.Lock()

    def missing(self, path: str) -> Sequence[str]:
        """What a request to this address needs and is not imported yet."""
        return [name for name in MODULES.get(beginning(path), ()) if name not in self._loaded]

    def load(self, names: Iterable[str]) -> None:
        """May be called in any thread: a request that is matched meanwhile keeps the list that it has begun."""
        with self._lock:
            loaded = {**self._loaded, **{name: import_routes(name) for name in names}}
            self._router.routes = [*self._own, *chain.from_iterable(loaded.get(name, ()) for name in NAMES)]
            self._loaded = loaded
