"""All tables. Every row below a workspace carries its workspace; times are milliseconds since 1970."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite gives rowids only to INTEGER keys.
SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")


# Of accounts and actors that an outside issuer vouches for: the others have neither issuer nor subject.
VOUCHED = sa.text("issuer != ''")


def partial_index(name: str, *columns: Any, where: sa.TextClause, unique: bool = False) -> sa.Index:
    """Of the rows of which `where` is true. `postgresql_where` is added where an index is created: SQLAlchemy imports
    that whole dialect as soon as an index has it."""
    return sa.Index(name, *columns, unique=unique, sqlite_where=where)


@sa.event.listens_for(metadata, "before_create")
def _limit_partial_indexes(target: sa.MetaData, connection: sa.Connection, **_: Any) -> None:
    if connection.dialect.name == "postgresql":
        for index in (one for table in target.tables.values() for one in table.indexes):
            index.dialect_kwargs["postgresql_where"] = index.dialect_kwargs.get("sqlite_where")


def workspace_column() -> sa.Column[str]:
    return sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), nullable=False)


accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("email", sa.String, nullable=False, default="", server_default=""),
    sa.Column("issuer", sa.String, nullable=False, default="", server_default=""),
    sa.Column("subject", sa.String, nullable=False, default="", server_default=""),
    sa.Column("disabled_at", sa.BigInteger),
    sa.Index(None, "issuer", "subject"),
    partial_index("uq_accounts_subject", "issuer", "subject", unique=True, where=VOUCHED),
)

organizations = sa.Table(
    "organizations",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    # off, destructive, all: which calls no one approves who asked for them; empty for the default
    sa.Column("separation", sa.String, nullable=False, default="", server_default=""),
)

members = sa.Table(
    "members",
    metadata,
    sa.Column("organization_id", sa.String, sa.ForeignKey("organizations.id"), primary_key=True),
    sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id"), primary_key=True),
    sa.Column("role", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

workspaces = sa.Table(
    "workspaces",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("organization_id", sa.String, sa.ForeignKey("organizations.id"), nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("policy_revision", sa.Integer, nullable=False, default=0),
    sa.Column("catalog_revision", sa.Integer, nullable=False, default=0),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Index("uq_workspaces_name", "organization_id", "name", unique=True),
)

actors = sa.Table(
    "actors",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id")),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    # An agent that an outside authorization server vouches for.
    sa.Column("issuer", sa.String, nullable=False, default="", server_default=""),
    sa.Column("subject", sa.String, nullable=False, default="", server_default=""),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Index(None, "workspace_id", "issuer", "subject"),
    sa.Index("uq_actors_account", "workspace_id", "account_id", "kind", unique=True),
    partial_index("uq_actors_subject", "workspace_id", "issuer", "subject", unique=True, where=VOUCHED),
)

sources = sa.Table(
    "sources",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("namespace", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("document_digest", sa.String, nullable=False),
    sa.Column("error", sa.Text, nullable=False, default=""),
    sa.Column("tool_count", sa.Integer, nullable=False, default=0),
    sa.Column("skipped", sa.Text, nullable=False, default="[]"),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("refreshed_at", sa.BigInteger, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False, default=0, server_default="0"),  # rises with every change
    sa.UniqueConstraint("workspace_id", "namespace"),
)

# What a source offers. Only the rows of the generation that `listings` names are seen, so that thousands can be
# written, and removed, a few at a time. How a tool looks and is sent is in its version, which outlives it.
tools = sa.Table(
    "tools",
    metadata,
    sa.Column("source_id", sa.String, primary_key=True),
    sa.Column("generation", sa.BigInteger, primary_key=True),
    sa.Column("path", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("effect", sa.String, nullable=False),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("deprecated", sa.Boolean, nullable=False),
    sa.Column("schema_digest", sa.String, nullable=False),
    sa.Column("held", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index(None, "workspace_id", "path"),
)

# Tools, by the source's own paths, whose change no one has accepted yet (`offered`), and those that are gone: if one
# comes back as something else, that is a change too. `before` is the definition that was in use.
tool_reviews = sa.Table(
    "tool_reviews",
    metadata,
    sa.Column("source_id", sa.String, sa.ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("path", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("before", sa.Text),
    sa.Column("offered", sa.Text),
    sa.Column("since", sa.BigInteger, nullable=False),
)

listings = sa.Table(
    "listings",
    metadata,
    sa.Column("source_id", sa.String, sa.ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    workspace_column(),
    sa.Column("generation", sa.BigInteger, nullable=False),
)

# Stored once by content and never changed: `links` are the digests of the definitions that the schemas name.
tool_versions = sa.Table(
    "tool_versions",
    metadata,
    sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
    sa.Column("digest", sa.String, primary_key=True),
    sa.Column("path", sa.String, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("effect", sa.String, nullable=False),
    sa.Column("idempotent", sa.Boolean, nullable=False),
    sa.Column("input_schema", sa.Text, nullable=False),
    sa.Column("output_schema", sa.Text),
    sa.Column("binding", sa.Text, nullable=False),
    sa.Column("links", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

definitions = sa.Table(
    "definitions",
    metadata,
    sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
    sa.Column("digest", sa.String, primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("schema", sa.Text, nullable=False),
    sa.Column("links", sa.Text, nullable=False),
)

# The text that a source was last read from, compressed.
documents = sa.Table(
    "documents",
    metadata,
    sa.Column("source_id", sa.String, sa.ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    workspace_column(),
    sa.Column("media_type", sa.String, nullable=False),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("read_at", sa.BigInteger, nullable=False),
)

# Each reading that changed a source's tools: `entries` are their versions before and after, compressed.
revisions = sa.Table(
    "revisions",
    metadata,
    sa.Column("source_id", sa.String, sa.ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("at", sa.BigInteger, primary_key=True),
    workspace_column(),
    sa.Column("added", sa.Integer, nullable=False),
    sa.Column("removed", sa.Integer, nullable=False),
    sa.Column("changed", sa.Integer, nullable=False),
    sa.Column("reworded", sa.Integer, nullable=False),
    sa.Column("entries", sa.LargeBinary, nullable=False),
)

# `level` is organization, workspace or toolkit; `owner_id` names the one it belongs to.
policies = sa.Table(
    "policies",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("level", sa.String, nullable=False),
    sa.Column("owner_id", sa.String, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("pattern", sa.String, nullable=False),
    sa.Column("action", sa.String, nullable=False),
    sa.Column("conditions", sa.Text, nullable=False, default="[]"),
    sa.Column("actor_id", sa.String, nullable=False, default=""),
    sa.Column("source_id", sa.String, nullable=False, default=""),
    sa.Column("effect", sa.String, nullable=False, default=""),
    sa.Column("note", sa.Text, nullable=False, default=""),
    sa.Column("created_by", sa.String, nullable=False, default=""),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    # The tools it was created for, as they were; the sources it does not apply to; since when it applies to nothing.
    sa.Column("made_for", sa.Text, nullable=False, default="", server_default=""),
    sa.Column("excluded", sa.Text, nullable=False, default="[]", server_default="[]"),
    sa.Column("retired_at", sa.BigInteger),
    sa.Index(None, "level", "owner_id", "position"),
)

# What a configuration file or the environment has made, so that it is known from what people added by hand.
declarations = sa.Table(
    "declarations",
    metadata,
    sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
    sa.Column("noun", sa.String, primary_key=True),
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("origin", sa.String, nullable=False),
    sa.Column("resource_id", sa.String, nullable=False),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("applied_at", sa.BigInteger, nullable=False),
)

# Partial indexes: on SQLite nothing is owned, and next to nothing is queued. Queries must use these very words.
OWNED = sa.text("owner != ''")
QUEUED = sa.text("status = 'queued'")

executions = sa.Table(
    "executions",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("actor_id", sa.String, sa.ForeignKey("actors.id"), nullable=False),
    sa.Column("language", sa.String, nullable=False),
    sa.Column("code", sa.Text, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("seed", sa.LargeBinary, nullable=False),
    sa.Column("clock_ms", sa.BigInteger, nullable=False),
    sa.Column("limits", sa.Text, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("wall_ms", sa.BigInteger, nullable=False),
    sa.Column("result", sa.Text),
    sa.Column("failure", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("finished_at", sa.BigInteger),
    sa.Column("runtime", sa.String, nullable=False, server_default="typescript"),
    sa.Column("origin", sa.String, nullable=False, default="", server_default=""),
    sa.Column("artifact_id", sa.String),
    sa.Column("client_id", sa.String, nullable=False, server_default=""),
    sa.Column("client_name", sa.String, nullable=False, server_default=""),
    # Where several processes share the database: who runs it, how often it was queued, how often its process was lost.
    sa.Column("owner", sa.String, nullable=False, default="", server_default=""),
    sa.Column("segment", sa.Integer, nullable=False, default=0, server_default="0"),
    sa.Column("attempts", sa.Integer, nullable=False, default=0, server_default="0"),
    sa.Column("typecheck", sa.String, nullable=False, default="", server_default=""),
    sa.Column("toolkit_id", sa.String, nullable=False, server_default=""),
    sa.Column("priority", sa.Integer, nullable=False, default=1, server_default="1"),  # 0 is claimed first
    partial_index("ix_executions_owner", "owner", where=OWNED),
    partial_index("ix_executions_queued", "workspace_id", "actor_id", "id", where=QUEUED),
    sa.Index(None, "workspace_id", "id"),
    sa.Index(None, "workspace_id", "status", "id"),
    sa.Index(None, "workspace_id", "actor_id", "id"),
    sa.Index(None, "workspace_id", "runtime", "language", "id"),
)
# What several processes claim from, and count. SQLite has one process, which knows what it runs.
partial_index(
    "ix_executions_claimed_next",
    *(executions.c[name] for name in ("workspace_id", "priority", "actor_id", "id")),
    where=QUEUED,
).ddl_if(dialect="postgresql")
partial_index("ix_executions_owned", executions.c.workspace_id, executions.c.actor_id, where=OWNED).ddl_if(
    dialect="postgresql"
)

# What was chosen for a workspace (`actor_id` is empty) or for one of its actors. NULL is the default.
use_limits = sa.Table(
    "use_limits",
    metadata,
    sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
    sa.Column("actor_id", sa.String, primary_key=True),
    sa.Column("running", sa.Integer),
    sa.Column("queued", sa.Integer),
    sa.Column("per_minute", sa.Integer),
    sa.Column("weight", sa.Integer),
    sa.Column("priority", sa.String),
)

calls = sa.Table(
    "calls",
    metadata,
    sa.Column("execution_id", sa.String, sa.ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    workspace_column(),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("path", sa.String, nullable=False),
    sa.Column("arguments", sa.Text, nullable=False),
    sa.Column("arguments_digest", sa.String, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("effect", sa.String, nullable=False),
    sa.Column("source_id", sa.String, nullable=False),
    sa.Column("schema_digest", sa.String, nullable=False),
    sa.Column("result", sa.Text),
    sa.Column("failure", sa.Text),
    sa.Column("done_seq", sa.Integer),
    sa.Column("done_ms", sa.BigInteger),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("started_at", sa.BigInteger),
    sa.Column("artifact_id", sa.String),
    sa.Column("route", sa.String, nullable=False, default="", server_default=""),
    sa.UniqueConstraint("execution_id", "done_seq"),
    sa.Index(None, "workspace_id", "path", "execution_id"),
)

# Files that were deleted or never completed, whose content may still be there. Queries must use these very words.
LEFT_OVER = sa.text("form = 'file' AND deleted_at IS NOT NULL AND preview != ''")
IN_OBJECT = sa.text("object_key IS NOT NULL")
OLD_OBJECT = sa.text("object_key IS NOT NULL AND deleted_at IS NOT NULL")  # to be removed, or on its way in
IN_ROWS = sa.text("object_key IS NULL AND deleted_at IS NULL")

# `call_seq` is 0 for the result of the execution itself. An execution or a call whose result is here names it.
artifacts = sa.Table(
    "artifacts",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("execution_id", sa.String, sa.ForeignKey("executions.id", ondelete="CASCADE"), nullable=False),
    sa.Column("call_seq", sa.Integer, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("media_type", sa.String, nullable=False),
    sa.Column("form", sa.String, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("preview", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("deleted_at", sa.BigInteger),
    sa.Column("object_key", sa.String),  # of its content in the object store; without it, that is in `chunks`
    sa.UniqueConstraint("execution_id", "call_seq", "name", "digest"),
    sa.Index(None, "workspace_id", "id"),
    partial_index("ix_artifacts_left_over", "created_at", where=LEFT_OVER),
    partial_index("ix_artifacts_object_key", "object_key", where=IN_OBJECT),
    partial_index("ix_artifacts_old_object", "deleted_at", where=OLD_OBJECT),
    partial_index("ix_artifacts_in_rows", "size", where=IN_ROWS),
)

# The prefixes of object stores that this database has to itself. The object `owner` there has one of both tokens.
object_prefixes = sa.Table(
    "object_prefixes",
    metadata,
    sa.Column("location", sa.String, primary_key=True),
    sa.Column("token", sa.String, nullable=False),
    sa.Column("last_token", sa.String, nullable=False),
    sa.Column("swept_at", sa.BigInteger, nullable=False),
)

# Content, once per execution however many of its artifacts have it. Only a run writes here, fenced by its epoch.
chunks = sa.Table(
    "chunks",
    metadata,
    sa.Column("execution_id", sa.String, sa.ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("digest", sa.String, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    workspace_column(),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

# Of a call of an execution, or of what the agent of a session wants to do.
interactions = sa.Table(
    "interactions",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("execution_id", sa.String, sa.ForeignKey("executions.id", ondelete="CASCADE")),
    sa.Column("call_seq", sa.Integer, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("binding", sa.Text, nullable=False),
    sa.Column("prompt", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("settled_at", sa.BigInteger),
    sa.Column("settled_by", sa.String, nullable=False, default=""),
    sa.Column("reason", sa.Text, nullable=False, default=""),
    sa.Column("result", sa.Text),
    sa.Column("used", sa.Boolean, nullable=False, default=False),
    sa.Column("settled_from", sa.String, nullable=False, default="", server_default=""),
    sa.Column("scope", sa.String, nullable=False, default="", server_default=""),
    sa.Column("session_id", sa.String, sa.ForeignKey("agent_sessions.id", ondelete="CASCADE")),
    sa.Column("number", sa.Integer, nullable=False, default=0, server_default="0"),  # its place in the execution
    sa.Index(None, "execution_id", "call_seq"),
    sa.Index(None, "session_id", "status"),
    sa.Index(None, "workspace_id", "id"),
    sa.Index(None, "workspace_id", "status", "id"),
    sa.Index(None, "status", "expires_at"),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("id", SERIAL, primary_key=True, autoincrement=True),
    workspace_column(),
    sa.Column("execution_id", sa.String, nullable=False, default=""),
    sa.Column("type", sa.String, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("actor_id", sa.String, nullable=False, default="", server_default=""),
    sa.Column("origin", sa.String, nullable=False, default="", server_default=""),
    sa.Column("seal", sa.String, nullable=False, default="", server_default=""),
    sa.Index(None, "execution_id", "id"),
    sa.Index(None, "workspace_id", "id"),
    sa.Index(None, "workspace_id", "type", "id"),
)

# For SQLite, which else walks the events of all workspaces once statistics say that most are of one.
BY_WORKSPACE = "INDEXED BY ix_events_workspace_id_id"
BY_TYPE = "INDEXED BY ix_events_workspace_id_type_id"

# A client's own name for something it submitted, so that sending it again finds what it started the first time.
submissions = sa.Table(
    "submissions",
    metadata,
    sa.Column("actor_id", sa.String, sa.ForeignKey("actors.id"), primary_key=True),
    sa.Column("key", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("execution_id", sa.String, sa.ForeignKey("executions.id", ondelete="CASCADE"), nullable=False),
    sa.Index(None, "execution_id"),
)

# The last link of each workspace's chain of events: its seal covers every event before it.
chains = sa.Table(
    "chains",
    metadata,
    sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
    sa.Column("event_id", sa.BigInteger, nullable=False),
    sa.Column("seal", sa.String, nullable=False),
)
