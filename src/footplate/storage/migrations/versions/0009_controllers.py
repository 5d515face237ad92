"""Keep with a run how often its agents were revived, when to wake it, and the state of its controller."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("runs", sa.Column("revivals", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("wake_at", sa.Double()))
    op.add_column("runs", sa.Column("group", sa.Text()))
