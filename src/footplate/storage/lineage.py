"""The relations between runs, datasets and models, read from either end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Select, delete, select

from footplate.domain.datasets import SAMPLE_INPUT, SAMPLE_OUTPUT, DataUse, ModelUse, origin_of
from footplate.domain.orders import DataInput
from footplate.errors import InvalidInput
from footplate.storage.database import Database
from footplate.storage.run_keys import RunKeys
from footplate.storage.schema import datasets, experiments, model_datasets, models, run_datasets, runs

READ, WROTE = "read", "wrote"


class LineageTable:
    def __init__(self, database: Database, keys: RunKeys) -> None:
        self._database = database
        self._keys = keys

    def add_use(self, run: str, role: str, name: str, dataset: str) -> None:
        """Record that a run read or wrote a dataset; the same relation again changes nothing."""
        with self._database.write() as connection:
            key = self._keys.of(run, connection).key
            (versions,) = trace(connection, [dataset]).values()
            for each in versions if role == READ else versions[:1]:
                self._database.insert_new(connection, run_datasets, run=key, role=role, name=name, dataset=each)

    def of_run(self, run: str) -> list[DataUse]:
        key = self._keys.of(run).key
        return self._uses(_USES.where(run_datasets.c.run == key))

    def of_dataset(self, dataset: str) -> list[DataUse]:
        """Return the relations of a dataset, newest run first."""
        return self._uses(_USES.where(datasets.c.id == dataset).order_by(runs.c.key.desc()))

    def models_of_dataset(self, dataset: str) -> list[ModelUse]:
        rows = self._database.all(_MODEL_USES.where(datasets.c.id == dataset).order_by(models.c.key.desc()))
        return [ModelUse(*row) for row in rows]

    def _uses(self, query: Select[Any, Any, Any, Any, Any, Any, Any, Any]) -> list[DataUse]:
        return [DataUse(*row) for row in self._database.all(query)]


_USES = (
    select(
        runs.c.id, datasets.c.id, run_datasets.c.role, run_datasets.c.name, datasets.c.name, datasets.c.version,
        experiments.c.name, runs.c.status,
    )
    .select_from(run_datasets)
    .join(runs, runs.c.key == run_datasets.c.run)
    .join(experiments, experiments.c.key == runs.c.experiment)
    .join(datasets, datasets.c.key == run_datasets.c.dataset)
)  # fmt: skip
_MODEL_USES = (
    select(
        models.c.name, models.c.version, datasets.c.id, model_datasets.c.purpose, datasets.c.name, datasets.c.version
    )
    .select_from(model_datasets)
    .join(models, models.c.key == model_datasets.c.model)
    .join(datasets, datasets.c.key == model_datasets.c.dataset)
)


def trace(connection: Connection, ids: Iterable[str]) -> dict[str, list[int]]:
    """Return the keys of these datasets, each followed by those of the versions that it was derived from: a run that
    reads a part of a version has read that version. An unknown id is refused by name.
    """
    unique_ids = list(dict.fromkeys(ids))
    c = datasets.c
    query = select(c.id, c.key, c.workspace, c.definition).where(c.id.in_(unique_ids))
    rows = {row.id: row for row in connection.execute(query).all()} if unique_ids else {}
    missing = next((id for id in unique_ids if id not in rows), None)
    if missing is not None:
        raise InvalidInput(f"there is no dataset with the id {missing[:100]!r}", "see: footplate data list")
    return {id: [row.key, *_origins(connection, row)] for id, row in rows.items()}


def _origins(connection: Connection, row: Any) -> list[int]:
    """Follow derivations; an unknown id, or one of another workspace, ends the trace."""
    c = datasets.c
    keys: list[int] = []
    while origin := origin_of(row.definition):
        query = select(c.key, c.workspace, c.definition).where(c.id == origin, c.workspace == row.workspace)
        row = connection.execute(query).one_or_none()
        if row is None:
            break
        keys.append(row.key)
    return keys


def record_inputs(connection: Connection, run: int, inputs: Sequence[DataInput]) -> None:
    """Record the datasets that a new run reads, in the transaction that creates the run."""
    named = [(each.name, each.dataset) for each in inputs if each.dataset is not None]
    keys = trace(connection, [dataset for _, dataset in named])
    rows = [
        {"run": run, "role": READ, "name": name, "dataset": key} for name, dataset in named for key in keys[dataset]
    ]
    if rows:
        connection.execute(run_datasets.insert(), rows)


def record_model(
    database: Database, connection: Connection, model: int, run: str | None, purposes: Sequence[tuple[str, str]]
) -> None:
    """Record the datasets behind a new model: those `given` as (purpose, id), and those that its run has read."""
    keys = trace(connection, [dataset for _, dataset in purposes])
    lines = [(purpose, key) for purpose, dataset in purposes for key in keys[dataset]]
    if run is not None:
        c = run_datasets.c
        read = select(c.name, c.dataset).join(runs, runs.c.key == c.run).where(runs.c.id == run, c.role == READ)
        named = {dataset for _, dataset in lines}
        lines += [(name, dataset) for name, dataset in connection.execute(read).all() if dataset not in named]
    for purpose, dataset in lines:
        database.insert_new(connection, model_datasets, model=model, purpose=purpose, dataset=dataset)


def forget_samples(connection: Connection, model: int, purposes: Sequence[str]) -> None:
    """Remove the samples of a model that are about to be replaced."""
    c = model_datasets.c
    replaced = [each for each in purposes if each in (SAMPLE_INPUT, SAMPLE_OUTPUT)]
    if replaced:
        connection.execute(delete(model_datasets).where(c.model == model, c.purpose.in_(replaced)))


def uses_of_models(connection: Connection, keys: Sequence[int]) -> dict[int, list[ModelUse]]:
    """Return the datasets behind these models, in one query."""
    uses: dict[int, list[ModelUse]] = {key: [] for key in keys}
    query = _MODEL_USES.add_columns(models.c.key).where(models.c.key.in_(keys))
    for *use, key in connection.execute(query.order_by(model_datasets.c.purpose)).all() if keys else ():
        uses[key].append(ModelUse(*use))
    return uses
