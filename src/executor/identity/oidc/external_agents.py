"""Tokens of an authorization server that an operator trusts. Each subject is an agent of its own, and never more.

Only what the issuer signed for this daemon is believed, and of that only who it is and which scopes it has: a claim
that speaks of roles or permissions gives nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Busy, Forbidden, InsufficientScope, Unauthorized
from executor.identity.new_token import digest
from executor.identity.oidc import jwt
from executor.identity.oidc.jwks import KeySet
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import AGENT
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import external_subjects

MOST = 10_000  # subjects in the workspace
NAMES = ("name", "preferred_username", "client_name", "email")


@dataclass(frozen=True, slots=True)
class Terms:
    """`scopes` must all be in a token; `workspace_id` is where its subject acts."""

    issuer: str
    audience: str
    workspace_id: str
    scopes: tuple[str, ...] = ()


class Bearers:
    def __init__(self, database: Database, keys: KeySet, terms: Terms) -> None:
        self._database = database
        self._keys = keys
        self._terms = terms

    async def verify(self, token: str, workspace: str) -> Actor | None:
        """The agent it belongs to. None if it is not a signed token; raises if it is one that is not good."""
        if not jwt.is_signed(token):
            return None
        claims = await self._keys.verify(jwt.read(token), self._terms.audience)
        self._check_scopes(claims)
        actor = await self._agent(claims["sub"], claims)
        return replace(
            actor,
            permissions=AGENT,
            via="bearer",
            credential_id=f"jwt_{digest(token)[:16]}",
            expires_at=jwt.expiry(claims),
        )

    def _check_scopes(self, claims: Mapping[str, Any]) -> None:
        terms = self._terms
        missing = [scope for scope in terms.scopes if scope not in jwt.scopes(claims)]
        if missing:
            raise InsufficientScope(
                f"this token lacks the scope {' '.join(missing)}",
                hint="request it from the authorization server",
                scope=" ".join(terms.scopes),
            )

    async def _agent(self, subject: str, claims: Mapping[str, Any]) -> Actor:
        terms = self._terms
        found = await self._database.read(
            lambda c: external_subjects.agent(c, terms.workspace_id, terms.issuer, subject)
        )
        if found is None:
            found = await self._database.write(lambda c: self._add(c, subject, claims))
        actor, is_revoked = found
        if is_revoked:
            raise Unauthorized("an operator has revoked this agent", hint="ask the operator of this daemon")
        return actor

    def _add(self, c: Connection, subject: str, claims: Mapping[str, Any]) -> tuple[Actor, bool]:
        """Of two first requests at once the second finds what the first has made."""
        terms = self._terms
        found = external_subjects.agent(c, terms.workspace_id, terms.issuer, subject)
        if found is not None:
            return found
        if not external_subjects.has_workspace(c, terms.workspace_id):
            raise Forbidden(
                f"the workspace {terms.workspace_id!r} for agents of the authorization server does not exist",
                hint="an operator must correct the setting mcp_workspace",
            )
        if external_subjects.count_agents(c, terms.workspace_id) >= MOST:
            raise Busy(f"the limit of {MOST} agents of the authorization server is reached", hint="use an existing one")
        made = external_subjects.add_agent(
            c, terms.workspace_id, terms.issuer, subject, display_name(claims, subject, terms.issuer)
        )
        data = {"agentId": made.id, "name": made.name, "issuer": terms.issuer, "subject": subject}
        events.append(c, terms.workspace_id, "agent.created", data, by=replace(made, via="bearer"))
        return made, False


def display_name(claims: Mapping[str, Any], subject: str, issuer: str) -> str:
    """For people, with where it comes from: an issuer's `operator` must not pass for ours. Nothing is decided by it."""
    given = next((name for name in (jwt.plain(claims.get(one)) for one in NAMES) if name), jwt.plain(subject))
    return f"{given or 'agent'} ({issuer.partition('://')[2].partition('/')[0][:100]})"
