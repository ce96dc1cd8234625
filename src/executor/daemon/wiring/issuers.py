"""Authorization servers and identity providers that vouch for callers, as the settings name them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from executor.connections.oauth.http import HttpClient
from executor.errors import SecretUnavailable
from executor.identity.oidc.external_agents import Bearers, Terms
from executor.identity.oidc.issuer import Issuer
from executor.identity.oidc.jwks import KeySet
from executor.identity.oidc.provider import Provider, Secret
from executor.identity.oidc.sign_in import SignIns
from executor.network.addresses import parse
from executor.network.client import Egress
from executor.network.private_access import grant_of
from executor.settings import Settings
from executor.storage.database import Database
from executor.storage.identity.tenancy import Tenancy

MAX_SECRET = 4_096
CALLBACK = "/v1/auth/oidc/callback"


class IssuerWire:
    """An operator wrote these addresses, so they may be on a private network; what the issuer names itself may not."""

    def __init__(self, egress: Egress, *written: str) -> None:
        self._http = HttpClient(egress)
        self._written = [parse(url) for url in written if url]

    async def document(self, url: str, bearer: str = "") -> dict[str, Any] | None:
        return await self._http.document(url, await self._grant_origins(), bearer)

    async def post_form(
        self, url: str, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]]:
        return await self._http.post_form(url, form, headers, await self._grant_origins())

    async def _grant_origins(self) -> frozenset[str]:
        grants = [await grant_of(target, may_be_metadata=True) for target in self._written]
        return frozenset(grant for grant in grants if grant)


class Issuers:
    """`mcp` is the server whose tokens are taken at `/mcp`, `sign_ins` where people sign in; None if not configured."""

    def __init__(self, settings: Settings, database: Database, local: Tenancy, egress: Egress) -> None:
        self.mcp: Issuer | None = None
        self.bearers: Bearers | None = None
        self.sign_ins: SignIns | None = None
        if settings.mcp_issuer:
            http = IssuerWire(egress, settings.mcp_issuer, settings.mcp_jwks_url)
            self.mcp = Issuer(settings.mcp_issuer, http)
            keys = KeySet(self.mcp, http, settings.mcp_jwks_url)
            place = settings.mcp_workspace or local.workspace.id
            terms = Terms(settings.mcp_issuer, settings.resource_audience, place, settings.mcp_scopes)
            self.bearers = Bearers(database, keys, terms)
        if settings.oidc_issuer and settings.oidc_client_id:
            http = IssuerWire(egress, settings.oidc_issuer)
            issuer = Issuer(settings.oidc_issuer, http)
            provider = Provider(
                issuer,
                KeySet(issuer, http),
                http,
                client_id=settings.oidc_client_id,
                secret=secret_of(settings.oidc_client_secret),
            )
            self.sign_ins = SignIns(database, provider, redirect_uri=f"{settings.address}{CALLBACK}")


def secret_of(reference: str) -> Secret:
    """From `env:NAME` or `file:/path`, read when it is needed."""
    kind, _, where = reference.partition(":")

    async def read() -> str:
        if not reference:
            return ""
        found = os.environ.get(where, "") if kind == "env" else await asyncio.to_thread(_from_file, Path(where))
        if not found.strip() or len(found) > MAX_SECRET:
            raise SecretUnavailable(
                f"there is no client secret at {reference}", hint="check the setting oidc_client_secret"
            )
        return found.strip()

    return read


def _from_file(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(MAX_SECRET + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise SecretUnavailable(f"the client secret can't be read from {path}", hint="check the file") from error
