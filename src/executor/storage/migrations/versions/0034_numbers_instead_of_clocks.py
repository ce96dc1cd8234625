"""Which interaction of an execution is the latest, and which state of a source was read, without asking a clock"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("interactions", sa.Column("number", sa.Integer, nullable=False, server_default="0"))
    op.add_column("sources", sa.Column("revision", sa.Integer, nullable=False, server_default="0"))
    i = sa.table("interactions", *(sa.column(name) for name in ("id", "execution_id", "created_at", "number")))
    place = sa.func.row_number().over(partition_by=i.c.execution_id, order_by=(i.c.created_at, i.c.id))
    numbered = sa.select(i.c.id, place.label("place")).subquery()
    own = sa.select(numbered.c.place).where(numbered.c.id == i.c.id).scalar_subquery()
    op.execute(sa.update(i).values(number=own))
