"""Secrets of a workspace, encrypted."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def _need(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def upgrade() -> None:
    op.create_table(
        "secrets",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("workspace", "name")),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        _need("changed", sa.Double()),
        sa.PrimaryKeyConstraint("workspace", "name", name="pk_secrets"),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.id"], name="fk_secrets_workspace"),
    )
