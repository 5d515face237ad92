"""The runs of a target that ended lately are found without looking at all that ever did."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.drop_index("runs_by_stage", "runs")
    op.create_index("runs_by_stage", "runs", ["stage", "workspace", "target", "ended"])
