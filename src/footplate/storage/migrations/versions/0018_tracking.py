"""Keep what MLflow's clients log: inputs of runs, logged models, and registered models without versions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from footplate.storage.column_types import key

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("series", sa.Column("last_step", sa.Double[float]()))
    op.add_column("experiments", sa.Column("updated", sa.Double[float]()))
    op.create_index("runs_of_experiment_by_start", "runs", ["experiment", "started", "id"])
    _create_run_inputs()
    _create_logged_models()
    op.create_table(
        "registered_models",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created", sa.Double[float](), nullable=False),
        sa.Column("updated", sa.Double[float](), nullable=False),
        sa.Column("description", sa.Text()),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.id"], name="fk_registered_models_workspace"),
        sa.PrimaryKeyConstraint("workspace", "name", name="pk_registered_models"),
    )


def _create_run_inputs() -> None:
    op.create_table(
        "run_inputs",
        sa.Column("run", key(), nullable=False, autoincrement=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("experiment", key(), nullable=False),
        sa.Column("context", sa.Text()),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.key"], name="fk_run_inputs_run"),
        sa.PrimaryKeyConstraint("run", "kind", "name", "digest", name="pk_run_inputs"),
    )
    op.create_index("run_inputs_of_experiment", "run_inputs", ["experiment", "kind", "name", "run"])


def _create_logged_models() -> None:
    op.create_table(
        "logged_models",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("experiment", sa.Text(), nullable=False),
        sa.Column("run", sa.Text()),
        sa.Column("host", sa.Text()),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created", sa.Double[float](), nullable=False),
        sa.Column("updated", sa.Double[float](), nullable=False),
        sa.Column("deleted", sa.Double[float]()),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.id"], name="fk_logged_models_workspace"),
        sa.PrimaryKeyConstraint("id", name="pk_logged_models"),
    )
    op.create_index("logged_models_of_experiment", "logged_models", ["experiment", "created"])
