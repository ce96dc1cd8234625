"""A secret: a value in a provider. Everything else holds only its id or name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Provider = Literal["store", "keyring", "environment", "vault", "onepassword"]


@dataclass(frozen=True, slots=True)
class Secret:
    """`reference` says where another provider keeps the value; the store keeps it sealed beside this row.

    `origins` are where it may be sent: that of its first use, and others that an administrator allowed.
    """

    id: str
    workspace_id: str
    name: str
    provider: Provider
    reference: str = ""
    created_by: str = ""
    created_at: int = 0
    rotated_at: int = 0
    last_used_at: int | None = None
    origins: tuple[str, ...] = ()
