"""Sign-ins at an identity provider that are under way. Only digests of what the browser and the provider hold."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.storage.tables.access import sign_ins


@dataclass(frozen=True, slots=True)
class SignIn:
    state_digest: str
    browser_digest: str
    nonce_digest: str
    return_to: str
    created_at: int
    expires_at: int


def insert(c: Connection, begun: SignIn) -> None:
    c.execute(
        sa.insert(sign_ins),
        {
            "state_digest": begun.state_digest,
            "browser_digest": begun.browser_digest,
            "nonce_digest": begun.nonce_digest,
            "return_to": begun.return_to,
            "created_at": begun.created_at,
            "expires_at": begun.expires_at,
        },
    )


def spend(c: Connection, state_digest: str, browser_digest: str, now: int) -> SignIn | None:
    """The first time, in time, and from the browser that began it; then never again."""
    mine = (sign_ins.c.state_digest == state_digest, sign_ins.c.browser_digest == browser_digest)
    fresh = (sign_ins.c.used_at.is_(None), sign_ins.c.expires_at > now)
    if c.execute(sa.update(sign_ins).where(*mine, *fresh).values(used_at=now)).rowcount != 1:
        return None
    row = c.execute(sa.select(sign_ins).where(*mine)).one()
    return SignIn(row.state_digest, row.browser_digest, row.nonce_digest, row.return_to, row.created_at, row.expires_at)


def forget(c: Connection, before: int) -> None:
    c.execute(sa.delete(sign_ins).where(sign_ins.c.expires_at < before))


def count(c: Connection) -> int:
    return int(c.execute(sa.select(sa.func.count()).select_from(sign_ins)).scalar_one())
