"""Which attempt of its run a file is of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("files", sa.Column("attempt", sa.Integer(), nullable=False, server_default="1"))
