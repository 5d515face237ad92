"""Labels of environments: names that stand for one version of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "environment_labels",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("workspace", "name", "label")),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "name", "label", name="pk_environment_labels"),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.id"], name="fk_environment_labels_workspace"),
    )
