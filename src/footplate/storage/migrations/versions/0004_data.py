"""Datastores, datasets with their versions, and the lines between runs, datasets and models."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _need(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def _may(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True)


def _texts(*names: str) -> list[sa.Column[Any]]:
    return [_need(name, sa.Text()) for name in names]


def _of(table: str, column: str, target: str, **how: Any) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", **how)


def upgrade() -> None:
    _datastores()
    _datasets()
    _lineage()


def _datastores() -> None:
    op.create_table(
        "datastores",
        *_texts("workspace", "name", "kind", "location", "options"),
        _may("sealed", sa.LargeBinary()),
        _need("created", sa.Double()),
        sa.PrimaryKeyConstraint("workspace", "name", name="pk_datastores"),
        _of("datastores", "workspace", "workspaces.id"),
    )
    op.create_table(
        "default_datastores",
        *_texts("workspace", "name"),
        sa.PrimaryKeyConstraint("workspace", name="pk_default_datastores"),
        _of("default_datastores", "workspace", "workspaces.id"),
    )


def _datasets() -> None:
    op.create_table(
        "datasets",
        _need("key", _KEY),
        *_texts("id", "workspace", "request"),
        _may("name", sa.Text()),
        _may("version", sa.Integer()),
        *_texts("kind", "definition"),
        _may("listing", sa.Text()),
        _may("files", sa.BigInteger()),
        _may("size", sa.BigInteger()),
        _may("description", sa.Text()),
        _may("run", sa.Text()),
        _need("created", sa.Double()),
        _may("unregistered", sa.Double()),
        sa.PrimaryKeyConstraint("key", name="pk_datasets"),
        sa.UniqueConstraint("id", name="uq_datasets_id"),
        sa.UniqueConstraint("workspace", "name", "version", name="uq_datasets_workspace_name_version"),
        sa.UniqueConstraint("workspace", "request", name="uq_datasets_workspace_request"),
        _of("datasets", "workspace", "workspaces.id"),
    )
    op.create_table(
        "dataset_versions",
        *_texts("workspace", "name"),
        _need("last", sa.Integer()),
        sa.PrimaryKeyConstraint("workspace", "name", name="pk_dataset_versions"),
        _of("dataset_versions", "workspace", "workspaces.id"),
    )
    op.create_table(
        "dataset_labels",
        _need("dataset", _KEY),
        *_texts("kind", "name"),
        _may("value", sa.Text()),
        sa.PrimaryKeyConstraint("dataset", "kind", "name", name="pk_dataset_labels"),
        _of("dataset_labels", "dataset", "datasets.key", ondelete="CASCADE"),
    )


def _lineage() -> None:
    op.create_table(
        "run_datasets",
        _need("run", _KEY),
        *_texts("role", "name"),
        _need("dataset", _KEY),
        sa.PrimaryKeyConstraint("run", "role", "name", "dataset", name="pk_run_datasets"),
        _of("run_datasets", "run", "runs.key"),
        _of("run_datasets", "dataset", "datasets.key"),
    )
    op.create_index("runs_of_dataset", "run_datasets", ["dataset", "run"])
    op.create_table(
        "model_datasets",
        _need("model", _KEY),
        *_texts("purpose"),
        _need("dataset", _KEY),
        sa.PrimaryKeyConstraint("model", "purpose", "dataset", name="pk_model_datasets"),
        _of("model_datasets", "model", "models.key", ondelete="CASCADE"),
        _of("model_datasets", "dataset", "datasets.key"),
    )
    op.create_index("models_of_dataset", "model_datasets", ["dataset", "model"])
