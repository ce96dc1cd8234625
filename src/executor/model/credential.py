"""A credential on its way to a source: resolved outside the sandbox, used for one call, never stored or shown."""

from __future__ import annotations

from dataclasses import dataclass, field

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Credential:
    """Goes only to `origin` (scheme, host and port). `values` are what must never be seen in anything that comes back.

    `digest` changes with the connection and its revision, so that pooled connections are not shared across credentials.
    """

    connection: str
    origin: str
    digest: str
    headers: Pairs = field(default=(), repr=False)
    query: Pairs = field(default=(), repr=False)
    cookies: Pairs = field(default=(), repr=False)
    environment: Pairs = field(default=(), repr=False)
    values: tuple[str, ...] = field(default=(), repr=False)
