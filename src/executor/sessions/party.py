"""Whose session it is: all that the proxies need to know of one."""

from __future__ import annotations

from executor.dataclass import dataclass
from executor.model.identity.actor import Actor


@dataclass(frozen=True, slots=True)
class SessionParty:
    """`actor_id` is the user who started the session: their keys, budgets and rates apply."""

    session_id: str
    workspace_id: str
    actor_id: str

    @property
    def author(self) -> Actor:
        """For events: whatever a session does is done by the user who started it."""
        return Actor(self.actor_id, self.workspace_id, "agent", self.session_id)
