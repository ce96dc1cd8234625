"""Tables of callers' credentials, and of the secrets and connections that calls are given."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from executor.storage.tables.core import metadata, workspace_column

# What a caller shows instead of a password. Only a digest is kept; `prefix` is for people to recognise keys.
api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("actor_id", String, ForeignKey("actors.id"), nullable=False),
    Column("kind", String, nullable=False),  # personal, agent, anonymous
    Column("name", String, nullable=False),
    Column("prefix", String, nullable=False),
    Column("digest", String, nullable=False, unique=True),
    Column("scopes", Text, nullable=False),
    Column("created_by", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("last_used_at", BigInteger),
    Column("revoked_at", BigInteger),
    Index(None, "workspace_id", "id"),
)

# A browser that has signed in, and the links that let one sign in once.
browser_sessions = Table(
    "browser_sessions",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("account_id", String, ForeignKey("accounts.id"), nullable=False),
    Column("digest", String, nullable=False, unique=True),
    Column("agent", String, nullable=False, default=""),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("last_seen_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Index(None, "account_id", "id"),
)

sign_in_links = Table(
    "sign_in_links",
    metadata,
    Column("digest", String, primary_key=True),
    workspace_column(),
    Column("account_id", String, ForeignKey("accounts.id"), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
)

# A sign-in at an identity provider that is under way, bound to the browser that began it: the verifier of the code is
# made of what only that browser has.
sign_ins = Table(
    "sign_ins",
    metadata,
    Column("state_digest", String, primary_key=True),
    Column("browser_digest", String, nullable=False),
    Column("nonce_digest", String, nullable=False),
    Column("return_to", String, nullable=False, default=""),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
)

invitations = Table(
    "invitations",
    metadata,
    Column("id", String, primary_key=True),
    Column("organization_id", String, ForeignKey("organizations.id"), nullable=False),
    Column("email", String, nullable=False),
    Column("role", String, nullable=False),
    Column("digest", String, nullable=False, unique=True),
    Column("created_by", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("accepted_at", BigInteger),
    Column("accepted_by", String, nullable=False, default=""),
    Column("revoked_at", BigInteger),
    Index(None, "organization_id", "id"),
)

anonymous_sessions = Table(
    "anonymous_sessions",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("actor_id", String, ForeignKey("actors.id"), nullable=False),
    Column("client_id", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("last_seen_at", BigInteger, nullable=False),
)

# Keys that seal values, each sealed itself by the master key, which is never in the database.
data_keys = Table(
    "data_keys",
    metadata,
    Column("id", String, primary_key=True),
    Column("master_id", String, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("retired_at", BigInteger),
)

secrets = Table(
    "secrets",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("name", String, nullable=False),
    Column("provider", String, nullable=False),
    Column("reference", Text, nullable=False, default=""),
    Column("key_id", String, nullable=False, default=""),
    Column("sealed", LargeBinary),
    Column("created_by", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("rotated_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    Column("origins", Text, nullable=False, default="[]", server_default="[]"),  # where it may be sent
    UniqueConstraint("workspace_id", "name"),
)

# `actor_id` is empty for a connection that the whole workspace shares. `inputs` names a secret for each part of the
# credential; what an OAuth grant gave is sealed in `grants`.
connections = Table(
    "connections",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("source_id", String, ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("name", String, nullable=False),
    Column("actor_id", String, nullable=False, default=""),
    Column("scheme", String, nullable=False),
    Column("inputs", Text, nullable=False, default="{}"),
    Column("options", Text, nullable=False, default="{}"),
    Column("origin", String, nullable=False),
    Column("status", String, nullable=False),
    Column("error", Text, nullable=False, default=""),
    Column("revision", Integer, nullable=False, default=0),
    Column("created_by", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    UniqueConstraint("source_id", "actor_id", "name"),
    Index(None, "workspace_id", "id"),
)

# `generation` rises with every refresh: of several that refresh at once only one may write the next.
grants = Table(
    "grants",
    metadata,
    Column("connection_id", String, ForeignKey("connections.id", ondelete="CASCADE"), primary_key=True),
    workspace_column(),
    Column("generation", Integer, nullable=False),
    Column("key_id", String, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("scopes", Text, nullable=False, default="[]"),
    Column("expires_at", BigInteger),
    Column("refresh_owner", String, nullable=False, default=""),
    Column("refresh_until", BigInteger, nullable=False, default=0),
    Column("updated_at", BigInteger, nullable=False),
)

oauth_clients = Table(
    "oauth_clients",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("issuer", String, nullable=False),
    Column("redirect_uri", String, nullable=False),
    Column("client_id", String, nullable=False),
    Column("key_id", String, nullable=False, default=""),
    Column("sealed", LargeBinary),
    Column("details", Text, nullable=False, default="{}"),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    UniqueConstraint("workspace_id", "issuer", "redirect_uri"),
)

oauth_flows = Table(
    "oauth_flows",
    metadata,
    Column("state_digest", String, primary_key=True),
    workspace_column(),
    Column("connection_id", String, nullable=False),
    Column("interaction_id", String, nullable=False, default=""),
    Column("actor_id", String, nullable=False),
    Column("browser_digest", String, nullable=False),
    Column("key_id", String, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
)

# What a human allowed for the rest of one execution.
permits = Table(
    "permits",
    metadata,
    Column("execution_id", String, ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    Column("path", String, primary_key=True),
    workspace_column(),
    Column("schema_digest", String, nullable=False),
    Column("source_digest", String, nullable=False),
    Column("connection", String, nullable=False, default="", server_default=""),
    Column("interaction_id", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)
