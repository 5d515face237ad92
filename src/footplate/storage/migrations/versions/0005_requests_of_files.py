"""The request that a file came with, by which its repetition is known."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("files", sa.Column("request", sa.Text(), nullable=True))
