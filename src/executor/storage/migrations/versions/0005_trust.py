"""Who may do what: keys and sessions of callers, secrets, connections, rules with conditions, a chained audit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    widen()
    replace_policies()
    create()


def widen() -> None:
    for name in ("email", "issuer", "subject"):
        op.add_column("accounts", sa.Column(name, sa.String(), nullable=False, server_default=""))
    op.add_column("accounts", sa.Column("disabled_at", sa.BigInteger()))
    op.create_index(op.f("ix_accounts_issuer_subject"), "accounts", ["issuer", "subject"])
    for name in ("issuer", "subject"):
        op.add_column("actors", sa.Column(name, sa.String(), nullable=False, server_default=""))
    op.add_column("actors", sa.Column("revoked_at", sa.BigInteger()))
    op.create_index(op.f("ix_actors_workspace_id_issuer_subject"), "actors", ["workspace_id", "issuer", "subject"])
    op.add_column("executions", sa.Column("origin", sa.String(), nullable=False, server_default=""))
    for name in ("settled_from", "scope"):
        op.add_column("interactions", sa.Column(name, sa.String(), nullable=False, server_default=""))
    for name in ("actor_id", "origin", "seal"):
        op.add_column("events", sa.Column(name, sa.String(), nullable=False, server_default=""))
    op.create_index(op.f("ix_events_workspace_id_id"), "events", ["workspace_id", "id"])


def replace_policies() -> None:
    """They belong to an organization, a workspace or a toolkit now, and carry conditions."""
    before = sa.table("policies", *(sa.column(name) for name in KEPT), sa.column("workspace_id"))
    rows = [dict(row) for row in op.get_bind().execute(sa.select(before)).mappings()]
    op.drop_index(op.f("ix_policies_workspace_id_position"), "policies")
    op.drop_table("policies")
    texts = ("actor_id", "source_id", "effect", "note", "created_by")
    policies = op.create_table(
        "policies",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("id", "level", "owner_id")),
        sa.Column("position", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("pattern", "action")),
        sa.Column("conditions", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Text() if name == "note" else sa.String(), nullable=False) for name in texts),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_policies")),
    )
    op.create_index(op.f("ix_policies_level_owner_id_position"), "policies", ["level", "owner_id", "position"])
    empty = {"conditions": "[]", **dict.fromkeys(texts, "")}
    moved = [
        {**{name: row[name] for name in KEPT}, "level": "workspace", "owner_id": row["workspace_id"], **empty}
        for row in rows
    ]
    if moved:
        op.bulk_insert(policies, moved)


KEPT = ("id", "position", "pattern", "action", "created_at")


def create() -> None:
    op.create_table(
        "chains",
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=False),
        sa.Column("seal", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_chains_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", name=op.f("pk_chains")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("actor_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("prefix", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("last_used_at", sa.BigInteger()),
        sa.Column("revoked_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["actor_id"], ["actors.id"], name=op.f("fk_api_keys_actor_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_api_keys_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_keys_digest")),
    )
    op.create_index(op.f("ix_api_keys_workspace_id_id"), "api_keys", ["workspace_id", "id"])
    op.create_table(
        "browser_sessions",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_browser_sessions_account_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_browser_sessions_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_browser_sessions")),
        sa.UniqueConstraint("digest", name=op.f("uq_browser_sessions_digest")),
    )
    op.create_index(op.f("ix_browser_sessions_account_id_id"), "browser_sessions", ["account_id", "id"])
    op.create_table(
        "sign_in_links",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_sign_in_links_account_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_sign_in_links_workspace_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sign_in_links")),
    )
    op.create_table(
        "sign_ins",
        sa.Column("state_digest", sa.String(), nullable=False),
        sa.Column("browser_digest", sa.String(), nullable=False),
        sa.Column("nonce_digest", sa.String(), nullable=False),
        sa.Column("return_to", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("state_digest", name=op.f("pk_sign_ins")),
    )
    op.create_table(
        "invitations",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("accepted_at", sa.BigInteger()),
        sa.Column("accepted_by", sa.String(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name=op.f("fk_invitations_organization_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("digest", name=op.f("uq_invitations_digest")),
    )
    op.create_index(op.f("ix_invitations_organization_id_id"), "invitations", ["organization_id", "id"])
    op.create_table(
        "anonymous_sessions",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("actor_id", sa.String(), nullable=False),
        sa.Column("client_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["actor_id"], ["actors.id"], name=op.f("fk_anonymous_sessions_actor_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_anonymous_sessions_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_anonymous_sessions")),
    )
    op.create_table(
        "data_keys",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("master_id", sa.String(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("retired_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_data_keys")),
    )
    op.create_table(
        "secrets",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("sealed", sa.LargeBinary()),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("rotated_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_secrets_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_secrets")),
        sa.UniqueConstraint("workspace_id", "name", name=op.f("uq_secrets_workspace_id_name")),
    )
    op.create_table(
        "connections",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("actor_id", sa.String(), nullable=False),
        sa.Column("scheme", sa.String(), nullable=False),
        sa.Column("inputs", sa.Text(), nullable=False),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name=op.f("fk_connections_source_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_connections_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_connections")),
        sa.UniqueConstraint("source_id", "actor_id", "name", name=op.f("uq_connections_source_id_actor_id_name")),
    )
    op.create_index(op.f("ix_connections_workspace_id_id"), "connections", ["workspace_id", "id"])
    op.create_table(
        "grants",
        sa.Column("connection_id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("refresh_owner", sa.String(), nullable=False),
        sa.Column("refresh_until", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["connection_id"], ["connections.id"], name=op.f("fk_grants_connection_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_grants_workspace_id")),
        sa.PrimaryKeyConstraint("connection_id", name=op.f("pk_grants")),
    )
    op.create_table(
        "oauth_clients",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("issuer", sa.String(), nullable=False),
        sa.Column("redirect_uri", sa.String(), nullable=False),
        sa.Column("client_id", sa.String(), nullable=False),
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("sealed", sa.LargeBinary()),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_oauth_clients_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_oauth_clients")),
        sa.UniqueConstraint(
            "workspace_id", "issuer", "redirect_uri", name=op.f("uq_oauth_clients_workspace_id_issuer_redirect_uri")
        ),
    )
    op.create_table(
        "oauth_flows",
        sa.Column("state_digest", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("connection_id", sa.String(), nullable=False),
        sa.Column("interaction_id", sa.String(), nullable=False),
        sa.Column("actor_id", sa.String(), nullable=False),
        sa.Column("browser_digest", sa.String(), nullable=False),
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_oauth_flows_workspace_id")),
        sa.PrimaryKeyConstraint("state_digest", name=op.f("pk_oauth_flows")),
    )
    op.create_table(
        "permits",
        sa.Column("execution_id", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("schema_digest", sa.String(), nullable=False),
        sa.Column("source_digest", sa.String(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False, server_default=""),
        sa.Column("interaction_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["executions.id"], name=op.f("fk_permits_execution_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_permits_workspace_id")),
        sa.PrimaryKeyConstraint("execution_id", "path", name=op.f("pk_permits")),
    )
