"""Secrets, connections and credentials.

A secret is a value in a provider; everything else holds only its id or name. A connection is a credential wired to a
source, owned by the workspace or by one actor; it holds references only. A credential is on its way to a source:
resolved outside the sandbox, used for one call, never stored or shown.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any, Literal

from executor.dataclass import dataclass

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


ConnectionStatus = Literal["ready", "incomplete", "rejected", "expired", "revoked"]
Scheme = Literal["api_key", "bearer", "basic", "headers", "environment", "oauth2"]
DEFAULT_NAME = "default"


@dataclass(frozen=True, slots=True)
class Connection:
    """`inputs` names the secret of each part of a credential (`token`, `username`, `password`, `key`, a header's name).

    `options` say where the parts go (`{"in": "header", "name": "X-Api-Key"}`) or, for OAuth, which server and scopes.
    `origin` is the only scheme, host and port it may be sent to.
    """

    id: str
    workspace_id: str
    source_id: str
    name: str
    scheme: Scheme
    origin: str
    actor_id: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    status: ConnectionStatus = "ready"
    error: str = ""
    revision: int = 0
    created_by: str = ""
    created_at: int = 0
    updated_at: int = 0
    last_used_at: int | None = None


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
