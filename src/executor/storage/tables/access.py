"""Tables of callers' credentials, and of the secrets and connections that calls are given."""

from __future__ import annotations

import sqlalchemy as sa

from executor.storage.tables.core import metadata, workspace_column

# What a caller shows instead of a password. Only a digest is kept; `prefix` is for people to recognise keys.
api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("actor_id", sa.String, sa.ForeignKey("actors.id"), nullable=False),
    sa.Column("kind", sa.String, nullable=False),  # personal, agent, anonymous
    sa.Column("name", sa.String, nullable=False),
    sa.Column("prefix", sa.String, nullable=False),
    sa.Column("digest", sa.String, nullable=False, unique=True),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("created_by", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("last_used_at", sa.BigInteger),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Column("toolkit_id", sa.String, nullable=False, default="", server_default=""),  # the only one it reaches
    sa.Index(None, "workspace_id", "id"),
)

# A named, narrowed view of the catalog.
toolkits = sa.Table(
    "toolkits",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("slug", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("patterns", sa.Text, nullable=False),
    sa.Column("policies", sa.Text, nullable=False),
    sa.Column("pass_through", sa.Text, nullable=False),
    sa.Column("created_by", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("workspace_id", "slug"),
)

# A browser that has signed in, and the links that let one sign in once.
browser_sessions = sa.Table(
    "browser_sessions",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("digest", sa.String, nullable=False, unique=True),
    sa.Column("agent", sa.String, nullable=False, default=""),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("last_seen_at", sa.BigInteger, nullable=False),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Index(None, "account_id", "id"),
)

sign_in_links = sa.Table(
    "sign_in_links",
    metadata,
    sa.Column("digest", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("used_at", sa.BigInteger),
)

# A sign-in at an identity provider that is under way, bound to the browser that began it: the verifier of the code is
# made of what only that browser has.
sign_ins = sa.Table(
    "sign_ins",
    metadata,
    sa.Column("state_digest", sa.String, primary_key=True),
    sa.Column("browser_digest", sa.String, nullable=False),
    sa.Column("nonce_digest", sa.String, nullable=False),
    sa.Column("return_to", sa.String, nullable=False, default=""),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("used_at", sa.BigInteger),
)

invitations = sa.Table(
    "invitations",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("organization_id", sa.String, sa.ForeignKey("organizations.id"), nullable=False),
    sa.Column("email", sa.String, nullable=False),
    sa.Column("role", sa.String, nullable=False),
    sa.Column("digest", sa.String, nullable=False, unique=True),
    sa.Column("created_by", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("accepted_at", sa.BigInteger),
    sa.Column("accepted_by", sa.String, nullable=False, default=""),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Index(None, "organization_id", "id"),
)

anonymous_sessions = sa.Table(
    "anonymous_sessions",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("actor_id", sa.String, sa.ForeignKey("actors.id"), nullable=False),
    sa.Column("client_id", sa.String, nullable=False),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("last_seen_at", sa.BigInteger, nullable=False),
    # Of the browser that it was started in, if it was.
    sa.Column("human_id", sa.String, nullable=False, default="", server_default=""),
    sa.Column("human_digest", sa.String, nullable=False, default="", server_default=""),
    sa.Column("expires_at", sa.BigInteger),
)

# Keys that seal values, each sealed itself by the master key, which is never in the database.
data_keys = sa.Table(
    "data_keys",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("master_id", sa.String, nullable=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("retired_at", sa.BigInteger),
)

secrets = sa.Table(
    "secrets",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("provider", sa.String, nullable=False),
    sa.Column("reference", sa.Text, nullable=False, default=""),
    sa.Column("key_id", sa.String, nullable=False, default=""),
    sa.Column("sealed", sa.LargeBinary),
    sa.Column("created_by", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("rotated_at", sa.BigInteger, nullable=False),
    sa.Column("last_used_at", sa.BigInteger),
    sa.Column("origins", sa.Text, nullable=False, default="[]", server_default="[]"),  # where it may be sent
    sa.UniqueConstraint("workspace_id", "name"),
)

# `actor_id` is empty for a connection that the whole workspace shares. `inputs` names a secret for each part of the
# credential; what an OAuth grant gave is sealed in `grants`.
connections = sa.Table(
    "connections",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("source_id", sa.String, sa.ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("actor_id", sa.String, nullable=False, default=""),
    sa.Column("scheme", sa.String, nullable=False),
    sa.Column("inputs", sa.Text, nullable=False, default="{}"),
    sa.Column("options", sa.Text, nullable=False, default="{}"),
    sa.Column("origin", sa.String, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("error", sa.Text, nullable=False, default=""),
    sa.Column("revision", sa.Integer, nullable=False, default=0),
    sa.Column("created_by", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("last_used_at", sa.BigInteger),
    sa.UniqueConstraint("source_id", "actor_id", "name"),
    sa.Index(None, "workspace_id", "id"),
)

# `generation` rises with every refresh: of several that refresh at once only one may write the next.
grants = sa.Table(
    "grants",
    metadata,
    sa.Column("connection_id", sa.String, sa.ForeignKey("connections.id", ondelete="CASCADE"), primary_key=True),
    workspace_column(),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("key_id", sa.String, nullable=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False, default="[]"),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("refresh_owner", sa.String, nullable=False, default=""),
    sa.Column("refresh_until", sa.BigInteger, nullable=False, default=0),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
)

oauth_clients = sa.Table(
    "oauth_clients",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("issuer", sa.String, nullable=False),
    sa.Column("redirect_uri", sa.String, nullable=False),
    sa.Column("client_id", sa.String, nullable=False),
    sa.Column("key_id", sa.String, nullable=False, default=""),
    sa.Column("sealed", sa.LargeBinary),
    sa.Column("details", sa.Text, nullable=False, default="{}"),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.UniqueConstraint("workspace_id", "issuer", "redirect_uri"),
)

oauth_flows = sa.Table(
    "oauth_flows",
    metadata,
    sa.Column("state_digest", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("connection_id", sa.String, nullable=False),
    sa.Column("interaction_id", sa.String, nullable=False, default=""),
    sa.Column("actor_id", sa.String, nullable=False),
    sa.Column("browser_digest", sa.String, nullable=False),
    sa.Column("key_id", sa.String, nullable=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("used_at", sa.BigInteger),
)

# What a human allowed for the rest of one execution.
permits = sa.Table(
    "permits",
    metadata,
    sa.Column("execution_id", sa.String, sa.ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("path", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("schema_digest", sa.String, nullable=False),
    sa.Column("source_digest", sa.String, nullable=False),
    sa.Column("connection", sa.String, nullable=False, default="", server_default=""),
    sa.Column("interaction_id", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)
