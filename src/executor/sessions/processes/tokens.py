"""Tokens of executor processes: random, for one session, for a while, and for so many model keys.

A process shows its token with every message. Only a digest is stored; what is shown is compared with the one in memory,
and looked up again for each key.
"""

from __future__ import annotations

import hmac
from dataclasses import field
from typing import Final

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Unauthorized
from executor.identity.new_token import digest, mint
from executor.model.ids import now_ms
from executor.model.sessions.session import Session, SessionToken
from executor.storage.database import Database
from executor.storage.sessions import tokens

PREFIX: Final = "exh_"
LIFE_MS = 24 * 3_600_000
USES = 1_000
SWEPT_AFTER_MS = 7 * LIFE_MS


@dataclass(frozen=True, slots=True)
class Issued:
    """A token as long as its process lives; `digest` is what is stored of it."""

    token: str = field(repr=False)
    digest: str
    session_id: str
    expires_at: int

    def matches(self, shown: object) -> bool:
        return isinstance(shown, str) and now_ms() < self.expires_at and hmac.compare_digest(digest(shown), self.digest)


async def issue(database: Database, session: Session, *, life_ms: int = LIFE_MS, uses: int = USES) -> Issued:
    """A session has one token: those before it end."""
    minted, at = mint(PREFIX), now_ms()
    token = SessionToken(session.id, session.workspace_id, session.actor_id, at, at + life_ms, uses)

    def write(c: Connection) -> None:
        tokens.sweep(c, at - SWEPT_AFTER_MS)
        tokens.revoke(c, session.id, at)
        tokens.insert(c, token, minted.digest)

    await database.write(write)
    return Issued(minted.token, minted.digest, session.id, token.expires_at)


async def spend(database: Database, issued: Issued, shown: object) -> None:
    """Count one use. Raises for a token that is wrong, expired, revoked or used up."""
    if not issued.matches(shown) or not await database.write(lambda c: tokens.spend(c, issued.digest, now_ms())):
        raise invalid()


def invalid() -> Unauthorized:
    return Unauthorized(
        "the session token is wrong, has expired or was used too often", hint="stop the session and resume it"
    )
