"""The tables, for SQLite and PostgreSQL alike. `HEAD` is their revision.

To change a table, add a revision in `migrations/versions` and raise `HEAD`; the conformance suite checks that a
migrated database and a new one are equal.

Runs and experiments have a numeric `key` beside the id that people see: other tables refer to the key, so that the
indexes stay small. Columns that repeat another table (`experiment` in `run_labels` and `series`) serve an index that
answers a search without touching the runs.
"""

from __future__ import annotations

from sqlalchemy import (
    DDL,
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
    event,
)

from footplate.storage.column_types import Json, Path, SafeText, key

HEAD = "0018"

HEAD_CHARACTERS = 200
"""How much of a label's value is indexed: PostgreSQL refuses index entries larger than a third of a page."""

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
    Column("id", SafeText, primary_key=True),
    Column("name", SafeText, nullable=False),
    Column("subscription_id", SafeText, nullable=False),
    Column("resource_group", SafeText, nullable=False),
    Column("location", SafeText, nullable=False),
    Column("created", Double, nullable=False),
    Column("friendly_name", SafeText),
    Column("tags", Json, nullable=False),
    UniqueConstraint("subscription_id", "resource_group", "name"),
)

saved_views = Table(
    "saved_views",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("search", Json, nullable=False),
    Column("modified", Double, nullable=False),
)

experiments = Table(
    "experiments",
    metadata,
    Column("key", key(), primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("workspace", SafeText, ForeignKey("workspaces.id"), nullable=False),
    Column("name", SafeText, nullable=False),
    Column("created", Double, nullable=False),
    Column("archived", Double),
    Column("tags", Json, nullable=False),
    Column("last_number", Integer, nullable=False),
    Column("updated", Double),
    UniqueConstraint("workspace", "name"),
)

runs = Table(
    "runs",
    metadata,
    Column("key", key(), primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("workspace", SafeText, ForeignKey("workspaces.id"), nullable=False),
    Column("experiment", key(), ForeignKey("experiments.key"), nullable=False),
    # 0 is "top level", not NULL: both databases can walk an index in order with the equality `parent = 0`.
    Column("parent", key(), nullable=False),
    Column("number", Integer, nullable=False),
    Column("kind", SafeText, nullable=False),
    Column("type", SafeText),
    Column("status", SafeText, nullable=False),
    Column("stage", SafeText, nullable=False),
    Column("version", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("created", Double, nullable=False),
    Column("started", Double),
    Column("ended", Double),
    Column("name", SafeText),
    Column("display_name", SafeText),
    Column("description", SafeText),
    Column("target", SafeText, nullable=False),
    Column("node_count", Integer, nullable=False),
    Column("snapshot", SafeText),
    Column("lock", SafeText),
    Column("handle", SafeText),
    Column("created_by", SafeText, nullable=False),
    Column("waiting", Json),
    Column("outcome", Json),
    Column("warnings", Json, nullable=False),
    Column("nodes", Json, nullable=False),
    Column("revivals", Integer, nullable=False, server_default="0"),
    Column("wake_at", Double),
    Column("group", Json),
    Column("archived", Double),
    Column("person", SafeText),  # who submitted it and owns it; NULL for the owner of the server
    UniqueConstraint("experiment", "number"),
    Index("runs_of_experiment", "experiment", "key"),
    Index("runs_of_experiment_by_parent", "experiment", "parent", "key"),
    Index("runs_of_workspace", "workspace", "key"),
    Index("runs_of_workspace_by_parent", "workspace", "parent", "key"),
    Index("runs_by_status", "experiment", "status", "parent", "key"),
    Index("runs_by_type", "experiment", "type", "parent", "key"),
    Index("runs_by_start", "workspace", "started", "key"),
    Index("runs_by_end", "workspace", "ended", "key"),
    Index("runs_of_experiment_by_start", "experiment", "started", "id"),
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
    Column("event", SafeText, nullable=False),
    Column("status", SafeText, nullable=False),
    Column("text", SafeText, nullable=False),
    Column("data", Json, nullable=False),
)

run_labels = Table(
    "run_labels",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("kind", SafeText, primary_key=True),  # tag, property or parameter
    Column("name", SafeText, primary_key=True),
    Column("head", SafeText),  # the beginning of the value, for the index
    Column("value", SafeText),
    Column("experiment", key(), nullable=False),
    Column("number", Double),  # the value, if it spells a number
    Index("run_labels_by_value", "experiment", "kind", "name", "head", "run"),
    Index("run_labels_in_order", "kind", "name", "number", "head", "run"),
)

files = Table(
    "files",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("path", Path, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("digest", SafeText, nullable=False),
    Column("modified", Double, nullable=False),
    Column("automatic", Boolean, nullable=False),
    Column("request", SafeText),  # the request that added it: the same one again does not conflict
    Column("attempt", Integer, nullable=False, server_default="1"),
)

journals = Table(
    "journals",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("writer", SafeText, primary_key=True),
    Column("system", Boolean, nullable=False),
    Column("ingested", BigInteger, nullable=False),  # bytes of slots that are in the summaries
    Column("definitions", LargeBinary, nullable=False),  # the slots among them that define a series, unchanged
)

series = Table(
    "series",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("system", Boolean, primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("experiment", key(), nullable=False),
    Column("place", Integer, nullable=False),  # the order in which the names were first logged
    Column("kind", SafeText, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("dropped", BigInteger, nullable=False),  # points of another kind than the first
    Column("last", Json),
    Column("last_time", Double, nullable=False),
    Column("rank", Double),  # `last` as a number to sort by; NULL for NaN and for anything that is not a number
    Column("min", Double),
    Column("max", Double),
    Column("last_step", Double),
    Index("series_of_experiment", "experiment", "name", "rank", "run"),
    Index("series_by_name", "name", "rank", "run"),
    Index("series_by_min", "name", "min", "run"),
    Index("series_by_max", "name", "max", "run"),
)

run_inputs = Table(
    "run_inputs",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("kind", SafeText, primary_key=True),  # dataset, model, or output: a model that the run made
    Column("name", SafeText, primary_key=True),  # of a dataset; otherwise the id of the model
    Column("digest", SafeText, primary_key=True),  # of a dataset; otherwise empty
    Column("place", Integer, nullable=False),  # the order in which they were logged
    Column("experiment", key(), nullable=False),
    Column("context", SafeText),  # what a dataset is for, such as train
    Column("details", Json, nullable=False),
    Index("run_inputs_of_experiment", "experiment", "kind", "name", "run"),
)

logged_models = Table(
    "logged_models",
    metadata,
    Column("id", SafeText, primary_key=True),
    Column("workspace", SafeText, ForeignKey("workspaces.id"), nullable=False),
    Column("experiment", SafeText, nullable=False),  # its id
    Column("run", SafeText),  # that made it; it may be gone
    Column("host", SafeText),  # the run that keeps its files
    Column("name", SafeText, nullable=False),
    Column("created", Double, nullable=False),
    Column("updated", Double, nullable=False),
    Column("deleted", Double),
    Column("details", Json, nullable=False),  # status, type, tags, parameters and metrics
    Index("logged_models_of_experiment", "experiment", "created"),
)

registered_models = Table(
    "registered_models",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("created", Double, nullable=False),
    Column("updated", Double, nullable=False),
    Column("description", SafeText),
    Column("tags", Json, nullable=False),
)

models = Table(
    "models",
    metadata,
    Column("key", key(), primary_key=True),
    Column("workspace", SafeText, ForeignKey("workspaces.id"), nullable=False),
    Column("name", SafeText, nullable=False),
    Column("version", Integer, nullable=False),
    Column("request", SafeText, nullable=False),  # the caller's own key: the same request again finds the same model
    Column("created", Double, nullable=False),
    Column("root", SafeText, nullable=False),
    Column("files", Json, nullable=False),
    Column("description", SafeText),
    Column("framework", SafeText),
    Column("framework_version", SafeText),
    Column("run", SafeText),
    Column("experiment", SafeText),
    Column("resources", Json, nullable=False),
    Column("options", Json, nullable=False),
    UniqueConstraint("workspace", "name", "version"),
    UniqueConstraint("workspace", "request"),
    Index("models_of_run", "run"),
)

model_versions = Table(
    "model_versions",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("last", Integer, nullable=False),  # stays when the model is deleted: a version is never reused
)

model_labels = Table(
    "model_labels",
    metadata,
    Column("model", key(), ForeignKey("models.key", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("kind", SafeText, primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("value", SafeText),
)

computes = Table(
    "computes",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("engine", SafeText, nullable=False),
    Column("max_nodes", Integer, nullable=False),
    Column("min_nodes", Integer, nullable=False),
    Column("idle_seconds", Double, nullable=False),
    Column("state", SafeText, nullable=False),
    Column("options", Json, nullable=False),
    Column("created", Double, nullable=False),
    Column("modified", Double, nullable=False),
    Column("kinds", Json),  # of its nodes, if they are other machines
)

environments = Table(
    "environments",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("created", Double, nullable=False),
    Column("definition", Json, nullable=False),
)

environment_labels = Table(
    "environment_labels",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("label", SafeText, primary_key=True),
    Column("version", Integer, nullable=False),
)

locks = Table(
    "locks",
    metadata,
    Column("digest", SafeText, primary_key=True),
    Column("builder", SafeText, nullable=False),
    Column("content", Json, nullable=False),
    Column("warnings", Json, nullable=False),
)

secrets = Table(
    "secrets",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),  # encrypted with the key in the home folder
    Column("changed", Double, nullable=False),
)

datastores = Table(
    "datastores",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("kind", SafeText, nullable=False),
    Column("location", Json, nullable=False),
    Column("options", Json, nullable=False),
    Column("sealed", LargeBinary),  # the credentials, encrypted with the key in the home folder
    Column("created", Double, nullable=False),
)

default_datastores = Table(
    "default_datastores",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, nullable=False),
)

datasets = Table(
    "datasets",
    metadata,
    Column("key", key(), primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("workspace", SafeText, ForeignKey("workspaces.id"), nullable=False),
    Column("request", SafeText, nullable=False),  # as for models
    Column("name", SafeText),  # without a name it is only known by its id
    Column("version", Integer),
    Column("kind", SafeText, nullable=False),
    Column("definition", Json, nullable=False),
    Column("listing", SafeText),
    Column("files", BigInteger),
    Column("size", BigInteger),
    Column("description", SafeText),
    Column("run", SafeText),
    Column("created", Double, nullable=False),
    Column("unregistered", Double),  # its name is released, but runs and models still refer to it
    UniqueConstraint("workspace", "name", "version"),
    UniqueConstraint("workspace", "request"),
)

dataset_versions = Table(
    "dataset_versions",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("last", Integer, nullable=False),  # as for models: a version is never reused
)

dataset_labels = Table(
    "dataset_labels",
    metadata,
    Column("dataset", key(), ForeignKey("datasets.key", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("kind", SafeText, primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("value", SafeText),
)

run_datasets = Table(
    "run_datasets",
    metadata,
    Column("run", key(), ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    Column("role", SafeText, primary_key=True),  # read or wrote
    Column("name", SafeText, primary_key=True),  # the run's name for it
    Column("dataset", key(), ForeignKey("datasets.key"), primary_key=True, autoincrement=False),
    Index("runs_of_dataset", "dataset", "run"),
)

model_datasets = Table(
    "model_datasets",
    metadata,
    Column("model", key(), ForeignKey("models.key", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("purpose", SafeText, primary_key=True),
    Column("dataset", key(), ForeignKey("datasets.key"), primary_key=True, autoincrement=False),
    Index("models_of_dataset", "dataset", "model"),
)

endpoints = Table(
    "endpoints",
    metadata,
    Column("workspace", SafeText, ForeignKey("workspaces.id"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("route", SafeText, nullable=False, unique=True),
    Column("record", Json, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("sealed", LargeBinary, nullable=False),  # its keys
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", SafeText, primary_key=True),  # of the cookie: a copy of the database opens no session
    Column("secret", SafeText, nullable=False),  # digest of the header that only the page knows
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("person", SafeText),  # NULL: the owner of the server
    Column("credential", SafeText),  # the id of the token that it began with, or another way to sign in
)

people = Table(
    "people",
    metadata,
    Column("name", SafeText, primary_key=True),  # never given to somebody else
    Column("kind", SafeText, nullable=False),
    Column("created", Double, nullable=False),
    Column("display_name", SafeText),
    Column("email", SafeText),
    Column("subject", SafeText, unique=True),  # the provider's own name of them
    Column("groups", Json, nullable=False),
    Column("disabled", Double),
)

access_tokens = Table(
    "access_tokens",
    metadata,
    Column("id", SafeText, primary_key=True),
    Column("digest", SafeText, nullable=False, unique=True),
    Column("person", SafeText, ForeignKey("people.name"), nullable=False),
    Column("label", SafeText, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double),
    Column("workspace", SafeText),
    Column("read_only", Boolean, nullable=False),
    Column("last_used", Double),
)

roles = Table(
    "roles",
    metadata,
    Column("workspace", SafeText, primary_key=True),  # or * for all of them, so there is no foreign key
    Column("kind", SafeText, primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("role", SafeText, nullable=False),
)

server_state = Table(
    "server_state",
    metadata,
    Column("name", SafeText, primary_key=True),
    Column("value", Json, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("number", key(), primary_key=True),
    Column("time", Double, nullable=False),
    Column("who", SafeText, nullable=False),
    Column("action", SafeText, nullable=False),
    Column("method", SafeText, nullable=False),
    Column("path", SafeText, nullable=False),
    Column("status", Integer, nullable=False),
    Column("source", SafeText, nullable=False),
    Column("workspace", SafeText),
    Column("run", SafeText),
    Column("credential", SafeText),
    Column("detail", SafeText),
    Index("audit_by_who", "who", "number"),
    Index("audit_by_workspace", "workspace", "number"),
)

APPEND_ONLY = {
    "sqlite": tuple(
        f"CREATE TRIGGER audit_no_{change.lower()} BEFORE {change} ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
        for change in ("UPDATE", "DELETE")
    ),
    "postgresql": (
        "CREATE OR REPLACE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$",
        "CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()",
    ),
}
"""Triggers that refuse to change the audit log, by the kind of database."""

for _kind, _statements in APPEND_ONLY.items():
    for _statement in _statements:
        event.listen(audit, "after_create", DDL(_statement).execute_if(dialect=_kind))
