"""The first tables.

Written out and not taken from `schema`: a revision says what was, whatever the tables become later.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _workspaces()
    _runs()
    _what_runs_have()
    _metrics()
    _models()
    _registry()


def _need(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def _may(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True)


def _texts(*names: str) -> list[sa.Column[Any]]:
    return [_need(name, sa.Text()) for name in names]


def _of(table: str, column: str, target: str, **options: Any) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", **options)


def _workspaces() -> None:
    op.create_table(
        "workspaces",
        *_texts("id", "name", "subscription_id", "resource_group", "location"),
        _need("created", sa.Double()),
        _may("friendly_name", sa.Text()),
        *_texts("tags"),
        sa.PrimaryKeyConstraint("id", name="pk_workspaces"),
        sa.UniqueConstraint(
            "subscription_id", "resource_group", "name", name="uq_workspaces_subscription_id_resource_group_name"
        ),
    )
    op.create_table(
        "experiments",
        _need("key", _KEY),
        *_texts("id", "workspace", "name"),
        _need("created", sa.Double()),
        _may("archived", sa.Double()),
        *_texts("tags"),
        _need("last_number", sa.Integer()),
        sa.PrimaryKeyConstraint("key", name="pk_experiments"),
        sa.UniqueConstraint("id", name="uq_experiments_id"),
        sa.UniqueConstraint("workspace", "name", name="uq_experiments_workspace_name"),
        _of("experiments", "workspace", "workspaces.id"),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        _need("key", _KEY),
        *_texts("id", "workspace"),
        _need("experiment", _KEY),
        _need("parent", _KEY),
        _need("number", sa.Integer()),
        *_texts("kind"),
        _may("type", sa.Text()),
        *_texts("status", "stage"),
        _need("version", sa.Integer()),
        _need("attempt", sa.Integer()),
        _need("created", sa.Double()),
        _may("started", sa.Double()),
        _may("ended", sa.Double()),
        *[_may(name, sa.Text()) for name in ("name", "display_name", "description")],
        *_texts("target"),
        _need("node_count", sa.Integer()),
        *[_may(name, sa.Text()) for name in ("snapshot", "lock", "handle")],
        *_texts("created_by"),
        *[_may(name, sa.Text()) for name in ("waiting", "outcome")],
        *_texts("warnings", "nodes"),
        sa.PrimaryKeyConstraint("key", name="pk_runs"),
        sa.UniqueConstraint("id", name="uq_runs_id"),
        sa.UniqueConstraint("experiment", "number", name="uq_runs_experiment_number"),
        _of("runs", "workspace", "workspaces.id"),
        _of("runs", "experiment", "experiments.key"),
    )
    op.create_index("runs_of_experiment", "runs", ["experiment", "key"])
    op.create_index("runs_of_experiment_by_parent", "runs", ["experiment", "parent", "key"])
    op.create_index("runs_of_workspace", "runs", ["workspace", "key"])
    op.create_index("runs_of_workspace_by_parent", "runs", ["workspace", "parent", "key"])
    op.create_index("runs_by_status", "runs", ["experiment", "status", "parent", "key"])
    op.create_index("runs_by_type", "runs", ["experiment", "type", "parent", "key"])
    op.create_index("runs_by_stage", "runs", ["stage", "workspace", "target"])


def _what_runs_have() -> None:
    op.create_table(
        "run_specs",
        _need("run", _KEY),
        *_texts("spec"),
        sa.PrimaryKeyConstraint("run", name="pk_run_specs"),
        _of("run_specs", "run", "runs.key"),
    )
    op.create_table(
        "story",
        _need("run", _KEY),
        _need("seq", sa.Integer()),
        _need("time", sa.Double()),
        *_texts("event", "status", "text", "data"),
        sa.PrimaryKeyConstraint("run", "seq", name="pk_story"),
        _of("story", "run", "runs.key"),
    )
    op.create_table(
        "run_labels",
        _need("run", _KEY),
        *_texts("kind", "name"),
        *[_may(name, sa.Text()) for name in ("head", "value")],
        _need("experiment", _KEY),
        sa.PrimaryKeyConstraint("run", "kind", "name", name="pk_run_labels"),
        _of("run_labels", "run", "runs.key"),
    )
    op.create_index("run_labels_by_value", "run_labels", ["experiment", "kind", "name", "head", "run"])
    op.create_table(
        "files",
        _need("run", _KEY),
        _need("path", sa.LargeBinary()),
        _need("size", sa.BigInteger()),
        *_texts("digest"),
        _need("modified", sa.Double()),
        _need("automatic", sa.Boolean()),
        sa.PrimaryKeyConstraint("run", "path", name="pk_files"),
        _of("files", "run", "runs.key"),
    )


def _metrics() -> None:
    op.create_table(
        "journals",
        _need("run", _KEY),
        *_texts("writer"),
        _need("system", sa.Boolean()),
        _need("ingested", sa.BigInteger()),
        _need("definitions", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("run", "writer", name="pk_journals"),
        _of("journals", "run", "runs.key"),
    )
    op.create_table(
        "series",
        _need("run", _KEY),
        _need("system", sa.Boolean()),
        *_texts("name"),
        _need("experiment", _KEY),
        _need("place", sa.Integer()),
        *_texts("kind"),
        _need("count", sa.BigInteger()),
        _need("dropped", sa.BigInteger()),
        _may("last", sa.Text()),
        _need("last_time", sa.Double()),
        *[_may(name, sa.Double()) for name in ("rank", "min", "max")],
        sa.PrimaryKeyConstraint("run", "system", "name", name="pk_series"),
        _of("series", "run", "runs.key"),
    )
    op.create_index("series_of_experiment", "series", ["experiment", "name", "rank", "run"])
    op.create_index("series_by_name", "series", ["name", "rank", "run"])


def _models() -> None:
    op.create_table(
        "models",
        _need("key", _KEY),
        *_texts("workspace", "name"),
        _need("version", sa.Integer()),
        *_texts("request"),
        _need("created", sa.Double()),
        *_texts("root", "files"),
        *[_may(name, sa.Text()) for name in ("description", "framework", "framework_version", "run", "experiment")],
        *_texts("resources", "options"),
        sa.PrimaryKeyConstraint("key", name="pk_models"),
        sa.UniqueConstraint("workspace", "name", "version", name="uq_models_workspace_name_version"),
        sa.UniqueConstraint("workspace", "request", name="uq_models_workspace_request"),
        _of("models", "workspace", "workspaces.id"),
    )
    op.create_index("models_of_run", "models", ["run"])
    op.create_table(
        "model_versions",
        *_texts("workspace", "name"),
        _need("last", sa.Integer()),
        sa.PrimaryKeyConstraint("workspace", "name", name="pk_model_versions"),
        _of("model_versions", "workspace", "workspaces.id"),
    )
    op.create_table(
        "model_labels",
        _need("model", _KEY),
        *_texts("kind", "name"),
        _may("value", sa.Text()),
        sa.PrimaryKeyConstraint("model", "kind", "name", name="pk_model_labels"),
        _of("model_labels", "model", "models.key", ondelete="CASCADE"),
    )


def _registry() -> None:
    op.create_table(
        "computes",
        *_texts("workspace", "name", "engine"),
        _need("max_nodes", sa.Integer()),
        _need("min_nodes", sa.Integer()),
        _need("idle_seconds", sa.Double()),
        *_texts("state", "options"),
        _need("created", sa.Double()),
        _need("modified", sa.Double()),
        sa.PrimaryKeyConstraint("workspace", "name", name="pk_computes"),
        _of("computes", "workspace", "workspaces.id"),
    )
    op.create_table(
        "environments",
        *_texts("workspace", "name"),
        _need("version", sa.Integer()),
        _need("created", sa.Double()),
        *_texts("definition"),
        sa.PrimaryKeyConstraint("workspace", "name", "version", name="pk_environments"),
        _of("environments", "workspace", "workspaces.id"),
    )
    op.create_table(
        "locks", *_texts("digest", "builder", "content", "warnings"), sa.PrimaryKeyConstraint("digest", name="pk_locks")
    )
    op.create_table(
        "tokens",
        *_texts("hash", "scope"),
        _need("expires", sa.Double()),
        sa.PrimaryKeyConstraint("hash", name="pk_tokens"),
    )
    op.create_index("tokens_by_expiry", "tokens", ["expires"])
