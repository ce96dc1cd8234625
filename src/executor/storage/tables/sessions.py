"""Tables of agent sessions. Messages and tasks go with their session."""

from __future__ import annotations

import sqlalchemy as sa

from executor.storage.tables.core import metadata, partial_index, workspace_column


def session_key(*, primary: bool = False) -> sa.Column[str]:
    parent = sa.ForeignKey("agent_sessions.id", ondelete="CASCADE")
    return sa.Column("session_id", sa.String, parent, primary_key=primary, nullable=False)


agent_sessions = sa.Table(
    "agent_sessions",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("actor_id", sa.String, sa.ForeignKey("actors.id"), nullable=False),
    sa.Column("agent_id", sa.String, sa.ForeignKey("actors.id"), nullable=False),
    sa.Column("agent", sa.String, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("isolation", sa.String, nullable=False),
    sa.Column("permission_mode", sa.String, nullable=False),
    sa.Column("cwd", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("model", sa.String, nullable=False),
    sa.Column("unattended", sa.String, nullable=False),
    sa.Column("budget", sa.Text, nullable=False),
    sa.Column("repository", sa.Text, nullable=False),
    sa.Column("branch", sa.String, nullable=False),
    sa.Column("base", sa.String, nullable=False),
    sa.Column("agent_session", sa.String, nullable=False),
    sa.Column("parent_id", sa.String, nullable=False),
    sa.Column("key_id", sa.String, nullable=False),
    # The executor process that works for it, while there is one.
    sa.Column("process", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("archived_at", sa.BigInteger),
    sa.Column("unix_user", sa.String, nullable=False, server_default=""),
    sa.Column("set_up_at", sa.BigInteger),
    sa.Column("removed_at", sa.BigInteger),
    sa.Column("snapshot", sa.Text, nullable=False, server_default=""),
    sa.Index(None, "workspace_id", "id"),
    sa.Index(None, "workspace_id", "actor_id", "id"),
    sa.Index(None, "status"),
)

session_tasks = sa.Table(
    "session_tasks",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    session_key(),
    workspace_column(),
    sa.Column("actor_id", sa.String, sa.ForeignKey("actors.id"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("prompt", sa.Text, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("started_at", sa.BigInteger),
    sa.Column("finished_at", sa.BigInteger),
    sa.Column("usage", sa.Text),
    sa.Column("failure", sa.Text),
    sa.UniqueConstraint("session_id", "number"),
    sa.Index(None, "status"),
)

NOTICES = sa.text("kind = 'notice'")

# `text` grows while an agent writes; everything else that a record has is in `data`.
session_messages = sa.Table(
    "session_messages",
    metadata,
    session_key(primary=True),
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("task_id", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Index(None, "session_id", "sequence", unique=True),
    sa.Index(None, "session_id", "position"),
    partial_index("ix_session_messages_notices", "session_id", "position", where=NOTICES),
)

session_tokens = sa.Table(
    "session_tokens",
    metadata,
    sa.Column("digest", sa.String, primary_key=True),
    session_key(),
    workspace_column(),
    sa.Column("actor_id", sa.String, sa.ForeignKey("actors.id"), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("uses_left", sa.Integer, nullable=False),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Index(None, "session_id"),
    sa.Index(None, "expires_at"),
)
