"""The tables, for SQLite and PostgreSQL alike. `HEAD` is the revision that they are at.

Whoever changes a table adds a revision in `migrations/versions`, raises `HEAD`, and lets the conformance suite prove
that a migrated database and a fresh one are equal.

Runs and experiments have a number of their own (`key`) beside the id that people see: what belongs to them points to
the number, so that the indexes stay small. Columns that repeat what another table knows (`experiment` in `run_labels`
and `series`) are there for an index that answers a search without touching the runs.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
)

from footplate.storage.column_types import Json, Path, Words, key

HEAD = "0009"

HEAD_CHARACTERS = 200
"""How much of a label's value is indexed: PostgreSQL takes no index entry larger than a third of a page."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)

workspaces = Table(
    "workspaces",
    metadata,
    Column("id", Words, primary_key=True),
    Column("name", Words, nullable=False),
    Column("subscription_id", Words, nullable=False),
    Column("resource_group", Words, nullable=False),
    Column("location", Words, nullable=False),
    Column("created", Double, nullable=False),
    Column("friendly_name", Words),
    Column("tags", Json, nullable=False),
    UniqueConstraint("subscription_id", "resource_group", "name"),
)

experiments = Table(
    "experiments",
    metadata,
    Column("key", key(), primary_key=True),
    Column("id", Words, nullable=False, unique=True),
    Column("workspace", Words, ForeignKey("workspaces.id"), nullable=False),
    Column("name", Words, nullable=False),
    Column("created", Double, nullable=False),
    Column("archived", Double),
    Column("tags", Json, nullable=False),
    Column("last_number", Integer, nullable=False),
    UniqueConstraint("workspace", "name"),
)

runs = Table(
    "runs",
    metadata,
    Column("key", key(), primary_key=True),
    Column("id", Words, nullable=False, unique=True),
    Column("workspace", Words, ForeignKey("workspaces.id"), nullable=False),
    Column("experiment", key(), ForeignKey("experiments.key"), nullable=False),
    # 0 is "top level", not NULL: `parent = 0` is an equality that both databases walk an index with, in order.
    Column("parent", key(), nullable=False),
    Column("number", Integer, nullable=False),
    Column("kind", Words, nullable=False),
    Column("type", Words),
    Column("status", Words, nullable=False),
    Column("stage", Words, nullable=False),
    Column("version", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("created", Double, nullable=False),
    Column("started", Double),
    Column("ended", Double),
    Column("name", Words),
    Column("display_name", Words),
    Column("description", Words),
    Column("target", Words, nullable=False),
    Column("node_count", Integer, nullable=False),
    Column("snapshot", Words),
    Column("lock", Words),
    Column("handle", Words),
    Column("created_by", Words, nullable=False),
    Column("waiting", Json),
    Column("outcome", Json),
    Column("warnings", Json, nullable=False),
    Column("nodes", Json, nullable=False),
    Column("revivals", Integer, nullable=False, server_default="0"),
    Column("wake_at", Double),
    Column("group", Json),
    UniqueConstraint("experiment", "number"),
    Index("runs_of_experiment", "experiment", "key"),
    Index("runs_of_experiment_by_parent", "experiment", "parent", "key"),
    Index("runs_of_workspace", "workspace", "key"),
    Index("runs_of_workspace_by_parent", "workspace", "parent", "key"),
    Index("runs_by_status", "experiment", "status", "parent", "key"),
    Index("runs_by_type", "experiment", "type", "parent", "key"),
    Index("runs_by_stage", "stage", "workspace", "target", "ended"),
)

run_specs = Table(
    "run_specs",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("spec", Json, nullable=False),
)

story = Table(
    "story",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("time", Double, nullable=False),
    Column("event", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("text", Words, nullable=False),
    Column("data", Json, nullable=False),
)

run_labels = Table(
    "run_labels",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("kind", Words, primary_key=True),  # tag or property
    Column("name", Words, primary_key=True),
    Column("head", Words),  # the beginning of the value, for the index
    Column("value", Words),
    Column("experiment", key(), nullable=False),
    Index("run_labels_by_value", "experiment", "kind", "name", "head", "run"),
)

files = Table(
    "files",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("path", Path, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("digest", Words, nullable=False),
    Column("modified", Double, nullable=False),
    Column("automatic", Boolean, nullable=False),
    Column("request", Words),  # that brought it: the same one again is no second file of the name
    Column("attempt", Integer, nullable=False, server_default="1"),
)

journals = Table(
    "journals",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("writer", Words, primary_key=True),
    Column("system", Boolean, nullable=False),
    Column("ingested", BigInteger, nullable=False),  # bytes of slots that the summaries contain
    Column("definitions", LargeBinary, nullable=False),  # the slots among them that name a series, as they are
)

series = Table(
    "series",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("system", Boolean, primary_key=True),
    Column("name", Words, primary_key=True),
    Column("experiment", key(), nullable=False),
    Column("place", Integer, nullable=False),  # the order in which the names were first seen
    Column("kind", Words, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("dropped", BigInteger, nullable=False),  # points of another kind than the first
    Column("last", Json),
    Column("last_time", Double, nullable=False),
    Column("rank", Double),  # `last` as a number to sort by; NULL for NaN and for what is no number
    Column("min", Double),
    Column("max", Double),
    Index("series_of_experiment", "experiment", "name", "rank", "run"),
    Index("series_by_name", "name", "rank", "run"),
)

models = Table(
    "models",
    metadata,
    Column("key", key(), primary_key=True),
    Column("workspace", Words, ForeignKey("workspaces.id"), nullable=False),
    Column("name", Words, nullable=False),
    Column("version", Integer, nullable=False),
    Column("request", Words, nullable=False),  # the caller's own key: the same request again finds the same model
    Column("created", Double, nullable=False),
    Column("root", Words, nullable=False),
    Column("files", Json, nullable=False),
    Column("description", Words),
    Column("framework", Words),
    Column("framework_version", Words),
    Column("run", Words),
    Column("experiment", Words),
    Column("resources", Json, nullable=False),
    Column("options", Json, nullable=False),
    UniqueConstraint("workspace", "name", "version"),
    UniqueConstraint("workspace", "request"),
    Index("models_of_run", "run"),
)

model_versions = Table(
    "model_versions",
    metadata,
    Column("workspace", Words, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", Words, primary_key=True),
    Column("last", Integer, nullable=False),  # stays when the model is deleted: a version is never given twice
)

model_labels = Table(
    "model_labels",
    metadata,
    Column("model", key(), ForeignKey("models.key", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("kind", Words, primary_key=True),
    Column("name", Words, primary_key=True),
    Column("value", Words),
)

computes = Table(
    "computes",
    metadata,
    Column("workspace", Words, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", Words, primary_key=True),
    Column("engine", Words, nullable=False),
    Column("max_nodes", Integer, nullable=False),
    Column("min_nodes", Integer, nullable=False),
    Column("idle_seconds", Double, nullable=False),
    Column("state", Words, nullable=False),
    Column("options", Json, nullable=False),
    Column("created", Double, nullable=False),
    Column("modified", Double, nullable=False),
)

environments = Table(
    "environments",
    metadata,
    Column("workspace", Words, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", Words, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("created", Double, nullable=False),
    Column("definition", Json, nullable=False),
)

environment_labels = Table(
    "environment_labels",
    metadata,
    Column("workspace", Words, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", Words, primary_key=True),
    Column("label", Words, primary_key=True),
    Column("version", Integer, nullable=False),
)

locks = Table(
    "locks",
    metadata,
    Column("digest", Words, primary_key=True),
    Column("builder", Words, nullable=False),
    Column("content", Json, nullable=False),
    Column("warnings", Json, nullable=False),
)

secrets = Table(
    "secrets",
    metadata,
    Column("workspace", Words, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", Words, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),  # encrypted with the key in the home folder
    Column("changed", Double, nullable=False),
)

datastores = Table(
    "datastores",
    metadata,
    Column("workspace", Words, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", Words, primary_key=True),
    Column("kind", Words, nullable=False),
    Column("location", Json, nullable=False),
    Column("options", Json, nullable=False),
    Column("sealed", LargeBinary),  # the credentials, encrypted with the key in the home folder
    Column("created", Double, nullable=False),
)

default_datastores = Table(
    "default_datastores",
    metadata,
    Column("workspace", Words, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", Words, nullable=False),
)

datasets = Table(
    "datasets",
    metadata,
    Column("key", key(), primary_key=True),
    Column("id", Words, nullable=False, unique=True),
    Column("workspace", Words, ForeignKey("workspaces.id"), nullable=False),
    Column("request", Words, nullable=False),  # as for models
    Column("name", Words),  # without one it is only known by its id
    Column("version", Integer),
    Column("kind", Words, nullable=False),
    Column("definition", Json, nullable=False),
    Column("listing", Words),
    Column("files", BigInteger),
    Column("size", BigInteger),
    Column("description", Words),
    Column("run", Words),
    Column("created", Double, nullable=False),
    Column("unregistered", Double),  # its name is given up, but runs and models still point to it
    UniqueConstraint("workspace", "name", "version"),
    UniqueConstraint("workspace", "request"),
)

dataset_versions = Table(
    "dataset_versions",
    metadata,
    Column("workspace", Words, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", Words, primary_key=True),
    Column("last", Integer, nullable=False),  # as for models: a version is never given twice
)

dataset_labels = Table(
    "dataset_labels",
    metadata,
    Column("dataset", key(), ForeignKey("datasets.key", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("kind", Words, primary_key=True),
    Column("name", Words, primary_key=True),
    Column("value", Words),
)

run_datasets = Table(
    "run_datasets",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("role", Words, primary_key=True),  # read or wrote
    Column("name", Words, primary_key=True),  # what the run calls it
    Column("dataset", key(), ForeignKey("datasets.key"), primary_key=True, autoincrement=False),
    Index("runs_of_dataset", "dataset", "run"),
)

model_datasets = Table(
    "model_datasets",
    metadata,
    Column("model", key(), ForeignKey("models.key", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("purpose", Words, primary_key=True),
    Column("dataset", key(), ForeignKey("datasets.key"), primary_key=True, autoincrement=False),
    Index("models_of_dataset", "dataset", "model"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("hash", Words, primary_key=True),
    Column("scope", Words, nullable=False),
    Column("expires", Double, nullable=False),
    Index("tokens_by_expiry", "expires"),
)
