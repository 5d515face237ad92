"""Keep views of the table of runs under names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "saved_views",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("modified", sa.Double[float](), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "name", name="pk_saved_views"),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.id"], name="fk_saved_views_workspace"),
    )
