"""Tickets: each lets one person attach to one terminal, once and soon."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict

from executor.errors import Unauthorized
from executor.identity.new_token import digest

SECONDS = 30.0
MOST = 1000


class Tickets:
    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._issued: OrderedDict[str, tuple[str, str, float]] = OrderedDict()

    def issue(self, actor_id: str, terminal_id: str) -> str:
        ticket = f"tkt_{secrets.token_urlsafe(24)}"
        self._issued[digest(ticket)] = actor_id, terminal_id, time.monotonic() + self._seconds
        while len(self._issued) > MOST:
            self._issued.popitem(last=False)
        return ticket

    def redeem(self, ticket: str, actor_id: str, terminal_id: str) -> None:
        """It is gone whatever comes of it."""
        found = self._issued.pop(digest(ticket), None)
        if found is None or found[:2] != (actor_id, terminal_id) or found[2] < time.monotonic():
            raise Unauthorized(
                "this ticket is not valid: it was used, is too old, or belongs to someone else",
                hint="request another one for each connection",
            )
