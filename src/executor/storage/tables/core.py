"""All tables. Every row below a workspace carries its workspace; times are milliseconds since 1970."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite gives rowids only to INTEGER keys.
SERIAL = BigInteger().with_variant(Integer, "sqlite")


def workspace_column() -> Column[str]:
    return Column("workspace_id", String, ForeignKey("workspaces.id"), nullable=False)


accounts = Table(
    "accounts",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("email", String, nullable=False, default="", server_default=""),
    Column("issuer", String, nullable=False, default="", server_default=""),
    Column("subject", String, nullable=False, default="", server_default=""),
    Column("disabled_at", BigInteger),
    Index(None, "issuer", "subject"),
)

organizations = Table(
    "organizations",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # off, destructive, all: which calls no one approves who asked for them; empty for the default
    Column("separation", String, nullable=False, default="", server_default=""),
)

members = Table(
    "members",
    metadata,
    Column("organization_id", String, ForeignKey("organizations.id"), primary_key=True),
    Column("account_id", String, ForeignKey("accounts.id"), primary_key=True),
    Column("role", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

workspaces = Table(
    "workspaces",
    metadata,
    Column("id", String, primary_key=True),
    Column("organization_id", String, ForeignKey("organizations.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("policy_revision", Integer, nullable=False, default=0),
    Column("catalog_revision", Integer, nullable=False, default=0),
    Column("created_at", BigInteger, nullable=False),
)

actors = Table(
    "actors",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("account_id", String, ForeignKey("accounts.id")),
    Column("kind", String, nullable=False),
    Column("name", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # An agent that an outside authorization server vouches for.
    Column("issuer", String, nullable=False, default="", server_default=""),
    Column("subject", String, nullable=False, default="", server_default=""),
    Column("revoked_at", BigInteger),
    Index(None, "workspace_id", "issuer", "subject"),
)

sources = Table(
    "sources",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("kind", String, nullable=False),
    Column("namespace", String, nullable=False),
    Column("name", String, nullable=False),
    Column("config", Text, nullable=False),
    Column("status", String, nullable=False),
    Column("document_digest", String, nullable=False),
    Column("error", Text, nullable=False, default=""),
    Column("tool_count", Integer, nullable=False, default=0),
    Column("skipped", Text, nullable=False, default="[]"),
    Column("created_at", BigInteger, nullable=False),
    Column("refreshed_at", BigInteger, nullable=False),
    UniqueConstraint("workspace_id", "namespace"),
)

# What a source offers. Only the rows of the generation that `listings` names are seen, so that thousands can be
# written, and removed, a few at a time. How a tool looks and is sent is in its version, which outlives it.
tools = Table(
    "tools",
    metadata,
    Column("source_id", String, primary_key=True),
    Column("generation", BigInteger, primary_key=True),
    Column("path", String, primary_key=True),
    workspace_column(),
    Column("description", Text, nullable=False),
    Column("effect", String, nullable=False),
    Column("tags", Text, nullable=False),
    Column("deprecated", Boolean, nullable=False),
    Column("schema_digest", String, nullable=False),
    Index(None, "workspace_id", "path"),
)

listings = Table(
    "listings",
    metadata,
    Column("source_id", String, ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    workspace_column(),
    Column("generation", BigInteger, nullable=False),
)

# Stored once by content and never changed: `links` are the digests of the definitions that the schemas name.
tool_versions = Table(
    "tool_versions",
    metadata,
    Column("workspace_id", String, ForeignKey("workspaces.id"), primary_key=True),
    Column("digest", String, primary_key=True),
    Column("path", String, nullable=False),
    Column("description", Text, nullable=False),
    Column("effect", String, nullable=False),
    Column("idempotent", Boolean, nullable=False),
    Column("input_schema", Text, nullable=False),
    Column("output_schema", Text),
    Column("binding", Text, nullable=False),
    Column("links", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

definitions = Table(
    "definitions",
    metadata,
    Column("workspace_id", String, ForeignKey("workspaces.id"), primary_key=True),
    Column("digest", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("schema", Text, nullable=False),
    Column("links", Text, nullable=False),
)

# The text that a source was last read from, compressed.
documents = Table(
    "documents",
    metadata,
    Column("source_id", String, ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    workspace_column(),
    Column("media_type", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("read_at", BigInteger, nullable=False),
)

# Each reading that changed a source's tools: `entries` are their versions before and after, compressed.
revisions = Table(
    "revisions",
    metadata,
    Column("source_id", String, ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    Column("at", BigInteger, primary_key=True),
    workspace_column(),
    Column("added", Integer, nullable=False),
    Column("removed", Integer, nullable=False),
    Column("changed", Integer, nullable=False),
    Column("reworded", Integer, nullable=False),
    Column("entries", LargeBinary, nullable=False),
)

# `level` is organization, workspace or toolkit; `owner_id` names the one it belongs to.
policies = Table(
    "policies",
    metadata,
    Column("id", String, primary_key=True),
    Column("level", String, nullable=False),
    Column("owner_id", String, nullable=False),
    Column("position", Integer, nullable=False),
    Column("pattern", String, nullable=False),
    Column("action", String, nullable=False),
    Column("conditions", Text, nullable=False, default="[]"),
    Column("actor_id", String, nullable=False, default=""),
    Column("source_id", String, nullable=False, default=""),
    Column("effect", String, nullable=False, default=""),
    Column("note", Text, nullable=False, default=""),
    Column("created_by", String, nullable=False, default=""),
    Column("created_at", BigInteger, nullable=False),
    # The tools it was made for, as they were then; the sources it does not apply to; since when it applies to nothing.
    Column("made_for", Text, nullable=False, default="", server_default=""),
    Column("excluded", Text, nullable=False, default="[]", server_default="[]"),
    Column("retired_at", BigInteger),
    Index(None, "level", "owner_id", "position"),
)

# What a configuration file or the environment has made, so that it is known from what people added by hand.
declarations = Table(
    "declarations",
    metadata,
    Column("workspace_id", String, ForeignKey("workspaces.id"), primary_key=True),
    Column("noun", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("origin", String, nullable=False),
    Column("resource_id", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("applied_at", BigInteger, nullable=False),
)

executions = Table(
    "executions",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("actor_id", String, ForeignKey("actors.id"), nullable=False),
    Column("language", String, nullable=False),
    Column("code", Text, nullable=False),
    Column("status", String, nullable=False),
    Column("seed", LargeBinary, nullable=False),
    Column("clock_ms", BigInteger, nullable=False),
    Column("limits", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("wall_ms", BigInteger, nullable=False),
    Column("result", Text),
    Column("failure", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("runtime", String, nullable=False, server_default="typescript"),
    Column("origin", String, nullable=False, default="", server_default=""),
    Column("artifact_id", String),
    Index(None, "workspace_id", "id"),
    Index(None, "workspace_id", "status", "id"),
    Index(None, "workspace_id", "actor_id", "id"),
    Index(None, "workspace_id", "runtime", "language", "id"),
)

calls = Table(
    "calls",
    metadata,
    Column("execution_id", String, ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    workspace_column(),
    Column("kind", String, nullable=False),
    Column("path", String, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("arguments_digest", String, nullable=False),
    Column("state", String, nullable=False),
    Column("effect", String, nullable=False),
    Column("source_id", String, nullable=False),
    Column("schema_digest", String, nullable=False),
    Column("result", Text),
    Column("failure", Text),
    Column("done_seq", Integer),
    Column("done_ms", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("artifact_id", String),
    Column("route", String, nullable=False, default="", server_default=""),
    UniqueConstraint("execution_id", "done_seq"),
    Index(None, "workspace_id", "path", "execution_id"),
)

# Files that were deleted or never completed, whose content may still be there. Queries must use these very words.
LEFT_OVER = text("form = 'file' AND deleted_at IS NOT NULL AND preview != ''")

# `call_seq` is 0 for the result of the execution itself. An execution or a call whose result is here names it.
artifacts = Table(
    "artifacts",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("execution_id", String, ForeignKey("executions.id", ondelete="CASCADE"), nullable=False),
    Column("call_seq", Integer, nullable=False),
    Column("name", String, nullable=False),
    Column("media_type", String, nullable=False),
    Column("form", String, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("digest", String, nullable=False),
    Column("preview", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("deleted_at", BigInteger),
    UniqueConstraint("execution_id", "call_seq", "name", "digest"),
    Index(None, "workspace_id", "id"),
    Index("ix_artifacts_left_over", "created_at", sqlite_where=LEFT_OVER, postgresql_where=LEFT_OVER),
)

# Content, once per execution however many of its artifacts have it. Only a run writes here, fenced by its epoch.
chunks = Table(
    "chunks",
    metadata,
    Column("execution_id", String, ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", String, primary_key=True),
    Column("seq", Integer, primary_key=True),
    workspace_column(),
    Column("data", LargeBinary, nullable=False),
)

interactions = Table(
    "interactions",
    metadata,
    Column("id", String, primary_key=True),
    workspace_column(),
    Column("execution_id", String, ForeignKey("executions.id", ondelete="CASCADE"), nullable=False),
    Column("call_seq", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("status", String, nullable=False),
    Column("binding", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("settled_at", BigInteger),
    Column("settled_by", String, nullable=False, default=""),
    Column("reason", Text, nullable=False, default=""),
    Column("result", Text),
    Column("used", Boolean, nullable=False, default=False),
    Column("settled_from", String, nullable=False, default="", server_default=""),
    Column("scope", String, nullable=False, default="", server_default=""),
    Index(None, "execution_id", "call_seq"),
    Index(None, "workspace_id", "id"),
    Index(None, "workspace_id", "status", "id"),
    Index(None, "status", "expires_at"),
)

events = Table(
    "events",
    metadata,
    Column("id", SERIAL, primary_key=True, autoincrement=True),
    workspace_column(),
    Column("execution_id", String, nullable=False, default=""),
    Column("type", String, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("data", Text, nullable=False),
    Column("actor_id", String, nullable=False, default="", server_default=""),
    Column("origin", String, nullable=False, default="", server_default=""),
    Column("seal", String, nullable=False, default="", server_default=""),
    Index(None, "execution_id", "id"),
    Index(None, "workspace_id", "id"),
    Index(None, "workspace_id", "type", "id"),
)

# For SQLite, which else walks the events of all workspaces once statistics say that most are of one.
BY_WORKSPACE = "INDEXED BY ix_events_workspace_id_id"

# A client's own name for something it submitted, so that sending it again finds what it started the first time.
submissions = Table(
    "submissions",
    metadata,
    Column("actor_id", String, ForeignKey("actors.id"), primary_key=True),
    Column("key", String, primary_key=True),
    workspace_column(),
    Column("digest", String, nullable=False),
    Column("execution_id", String, ForeignKey("executions.id", ondelete="CASCADE"), nullable=False),
    Index(None, "execution_id"),
)

# The last link of each workspace's chain of events: its seal covers every event before it.
chains = Table(
    "chains",
    metadata,
    Column("workspace_id", String, ForeignKey("workspaces.id"), primary_key=True),
    Column("event_id", BigInteger, nullable=False),
    Column("seal", String, nullable=False),
)
