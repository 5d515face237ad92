"""Keep the kinds of nodes of a compute target."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("computes", sa.Column("kinds", sa.Text()))
