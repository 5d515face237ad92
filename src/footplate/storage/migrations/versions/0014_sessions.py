"""Keep the sessions of browsers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("created", sa.Double[float](), nullable=False),
        sa.Column("expires", sa.Double[float](), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_sessions"),
    )
