"""A credential on its way to a source: resolved outside the sandbox, used for one call, never stored or shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Pairs = tuple[tuple[str, str], ...]

# Sent with every request by those who want it so, and telling nothing.
PLAIN_HEADER = re.compile(r"accept.*|user-agent|.*version.*|content-type|cache-control|origin|referer", re.IGNORECASE)
SECRET_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASS|PWD|AUTH|CREDENTIAL|COOKIE|DSN|URL|PRIVATE", re.IGNORECASE)


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
