"""What a request shows to say who it is. It is before the database is open, so it imports nothing heavy."""

from __future__ import annotations

from dataclasses import field

from executor.dataclass import dataclass
from executor.model.identity.actor import ActorKind


@dataclass(frozen=True, slots=True)
class Shown:
    """`kind` is set when the bearer token is one of this installation's own two; `session` is the browser's cookie.

    `workspace` is the one the request wants to act in, if it says so.
    """

    kind: ActorKind | None = None
    bearer: str = field(default="", repr=False)
    session: str = field(default="", repr=False)
    workspace: str = ""
    address: str = ""
