"""Lists of runs are sorted by start, end, extremes of metrics, parameters and tags without reading all runs."""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_index("runs_by_start", "runs", ["workspace", "started", "key"])
    op.create_index("runs_by_end", "runs", ["workspace", "ended", "key"])
    op.create_index("run_labels_in_order", "run_labels", ["kind", "name", "number", "head", "run"])
    op.create_index("series_by_min", "series", ["name", "min", "run"])
    op.create_index("series_by_max", "series", ["name", "max", "run"])
