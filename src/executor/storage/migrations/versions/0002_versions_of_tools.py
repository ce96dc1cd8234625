"""Versions of tools, stored by content"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import sqlalchemy as sa
from alembic import op

from executor.model.ids import now_ms
from executor.schemas.references import deep_digests, links_of, names_in

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    tools = [dict(row._mapping) for row in connection.execute(sa.text("SELECT * FROM tools"))]
    definitions = [dict(row._mapping) for row in connection.execute(sa.text("SELECT * FROM definitions"))]
    op.drop_index(op.f("ix_tools_workspace_id_path"), "tools")
    op.drop_table("tools")
    op.drop_table("definitions")
    create_tables()
    for table, rows in moved(tools, definitions):
        for row in rows:
            columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
            statement = f"INSERT INTO {table} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING"  # noqa: S608 - own names
            connection.execute(sa.text(statement), row)


def create_tables() -> None:
    op.create_table(
        "tools",
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("effect", sa.String(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("deprecated", sa.Boolean(), nullable=False),
        sa.Column("schema_digest", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_tools_workspace_id")),
        sa.PrimaryKeyConstraint("source_id", "generation", "path", name=op.f("pk_tools")),
    )
    op.create_index(op.f("ix_tools_workspace_id_path"), "tools", ["workspace_id", "path"], unique=False)
    op.create_table(
        "listings",
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name=op.f("fk_listings_source_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_listings_workspace_id")),
        sa.PrimaryKeyConstraint("source_id", name=op.f("pk_listings")),
    )
    op.create_table(
        "tool_versions",
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("effect", sa.String(), nullable=False),
        sa.Column("idempotent", sa.Boolean(), nullable=False),
        sa.Column("input_schema", sa.Text(), nullable=False),
        sa.Column("output_schema", sa.Text(), nullable=True),
        sa.Column("binding", sa.Text(), nullable=False),
        sa.Column("links", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_tool_versions_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "digest", name=op.f("pk_tool_versions")),
    )
    op.create_table(
        "definitions",
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("schema", sa.Text(), nullable=False),
        sa.Column("links", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_definitions_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "digest", name=op.f("pk_definitions")),
    )


Rows = list[dict[str, Any]]


def moved(tools: Rows, definitions: Rows) -> Iterator[tuple[str, Rows]]:
    for source_id in sorted({row["source_id"] for row in tools}):
        own = {row["name"]: orjson.loads(row["schema"]) for row in definitions if row["source_id"] == source_id}
        offered = [row for row in tools if row["source_id"] == source_id]
        links = links_of(own)
        deep = deep_digests(own, links)
        workspace_id = offered[0]["workspace_id"]
        yield (
            "definitions",
            [
                {
                    "workspace_id": workspace_id,
                    "digest": deep[name],
                    "name": name,
                    "schema": text(schema),
                    "links": text({other: deep[other] for other in links[name]}),
                }
                for name, schema in own.items()
            ],
        )
        yield "tool_versions", [version(row, deep) for row in offered]
        yield "tools", [{**{name: row[name] for name in KEPT}, "generation": FIRST} for row in offered]
        yield "listings", [{"source_id": source_id, "workspace_id": workspace_id, "generation": FIRST}]


FIRST = 1
KEPT = ("source_id", "path", "workspace_id", "description", "effect", "tags", "deprecated", "schema_digest")
SAME = ("workspace_id", "path", "description", "effect", "idempotent", "input_schema", "output_schema", "binding")


def version(row: dict[str, Any], deep: dict[str, str]) -> dict[str, Any]:
    parts = [orjson.loads(row[name]) for name in ("input_schema", "output_schema", "binding") if row[name]]
    linked = {name: deep[name] for name in sorted(names_in(*parts)) if name in deep}
    same = {name: row[name] for name in SAME}
    return {**same, "digest": row["schema_digest"], "links": text(linked), "created_at": now_ms()}


def text(value: Any) -> str:
    return orjson.dumps(value).decode()
