"""Agent sessions: tasks, transcripts and tokens; an interaction may belong to a session instead of an execution"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_sessions()
    create_tasks()
    create_messages()
    create_tokens()
    widen_interactions()


def texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.String(), nullable=False) for name in names]


def times(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def workspace(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f(f"fk_{table}_workspace_id"))


def session(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_session_id")
    return sa.ForeignKeyConstraint(["session_id"], ["agent_sessions.id"], ondelete="CASCADE", name=name)


def actor(table: str, column: str = "actor_id") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], ["actors.id"], name=op.f(f"fk_{table}_{column}"))


def index(table: str, *columns: str, unique: bool = False) -> None:
    op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns), unique=unique)


def create_sessions() -> None:
    table = "agent_sessions"
    op.create_table(
        table,
        *texts("id", "workspace_id", "actor_id", "agent_id", "agent", "status", "isolation", "permission_mode"),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("cwd", "title")),
        *texts("model", "unattended"),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("budget", "repository")),
        *texts("branch", "base", "agent_session", "parent_id", "key_id"),
        sa.Column("process", sa.Text()),
        *times("created_at", "updated_at"),
        sa.Column("archived_at", sa.BigInteger()),
        workspace(table),
        actor(table),
        actor(table, "agent_id"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
    index(table, "workspace_id", "id")
    index(table, "workspace_id", "actor_id", "id")
    index(table, "status")


def create_tasks() -> None:
    table = "session_tasks"
    op.create_table(
        table,
        *texts("id", "session_id", "workspace_id", "actor_id"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        *texts("status"),
        *times("created_at"),
        *(sa.Column(name, sa.BigInteger()) for name in ("started_at", "finished_at")),
        *(sa.Column(name, sa.Text()) for name in ("usage", "failure")),
        session(table),
        workspace(table),
        actor(table),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
        sa.UniqueConstraint("session_id", "number", name=op.f(f"uq_{table}_session_id_number")),
    )
    index(table, "status")


def create_messages() -> None:
    table = "session_messages"
    op.create_table(
        table,
        *texts("session_id", "id", "workspace_id"),
        *times("sequence", "position"),
        *texts("task_id", "kind"),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("text", "data")),
        *times("created_at", "updated_at"),
        session(table),
        workspace(table),
        sa.PrimaryKeyConstraint("session_id", "id", name=op.f(f"pk_{table}")),
    )
    index(table, "session_id", "sequence", unique=True)
    index(table, "session_id", "position")


def create_tokens() -> None:
    table = "session_tokens"
    op.create_table(
        table,
        *texts("digest", "session_id", "workspace_id", "actor_id"),
        *times("created_at", "expires_at"),
        sa.Column("uses_left", sa.Integer(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger()),
        session(table),
        workspace(table),
        actor(table),
        sa.PrimaryKeyConstraint("digest", name=op.f(f"pk_{table}")),
    )
    index(table, "session_id")
    index(table, "expires_at")


def widen_interactions() -> None:
    """SQLite can't make a column optional in place, so the table is written once more."""
    with op.batch_alter_table("interactions") as batch:
        batch.alter_column("execution_id", existing_type=sa.String(), nullable=True)
        for kept in ("settled_from", "scope"):  # written again as they were
            batch.alter_column(kept, existing_type=sa.String(), existing_nullable=False, server_default="")
        batch.add_column(sa.Column("session_id", sa.String()))
        name = op.f("fk_interactions_session_id")
        batch.create_foreign_key(name, "agent_sessions", ["session_id"], ["id"], ondelete="CASCADE")
    index("interactions", "session_id", "status")
