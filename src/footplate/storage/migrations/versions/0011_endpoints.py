"""Web services, and their keys, encrypted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "endpoints",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("workspace", "name", "route")),
        sa.Column("record", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "name", name="pk_endpoints"),
        sa.UniqueConstraint("route", name="uq_endpoints_route"),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.id"], name="fk_endpoints_workspace"),
    )
