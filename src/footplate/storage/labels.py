"""Tags and properties of runs, models and datasets, parameters of runs, and aliases of models.

Properties are written once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, ScalarSelect, Table, bindparam, delete, insert, select

from footplate.domain.runs.parameters import as_number
from footplate.errors import Conflict, InvalidInput
from footplate.storage.schema import HEAD_CHARACTERS, dataset_labels, model_labels, run_labels

TAG, PROPERTY, PARAMETER, ALIAS = "tag", "property", "parameter", "alias"
_LONGEST_NAME = 255


class Found(NamedTuple):
    """The labels of one owner, by name."""

    tags: dict[str, str | None]
    properties: dict[str, str]
    parameters: dict[str, str]
    aliases: dict[str, None]

    @classmethod
    def nothing(cls) -> Found:
        return cls({}, {}, {}, {})

    def of_kind(self, kind: str) -> dict[str, Any]:
        return {TAG: self.tags, PROPERTY: self.properties, PARAMETER: self.parameters, ALIAS: self.aliases}[kind]


class LabelTable:
    """The labels of one kind of owner. A column `head` means that values are indexed."""

    def __init__(self, table: Table, owner: str) -> None:
        self.table = table
        self.owner = table.c[owner]
        query = select(self.owner, table.c.kind, table.c.name, table.c.value)
        self._of_owners = query.where(self.owner.in_(bindparam("owners", expanding=True)))
        self._insert = insert(table)

    def of(self, connection: Connection, owners: Iterable[int]) -> dict[int, Found]:
        """Return the labels of all these owners, in one query, by name."""
        labels: dict[int, Found] = defaultdict(Found.nothing)
        rows = connection.execute(self._of_owners, {"owners": list(owners)}).all()
        for owner, kind, name, value in sorted(rows, key=lambda row: row[2]):
            labels[owner].of_kind(kind)[name] = value
        return labels

    def change(
        self,
        connection: Connection,
        owner: int,
        tags: Mapping[str, str | None] | None,
        remove_tags: Iterable[str],
        properties: Mapping[str, str] | None,
        **fixed: Any,
    ) -> None:
        """Set and remove tags, and add properties. The caller holds the owner's row."""
        replaced = {*(tags or {}), *remove_tags}
        if replaced:
            self._remove(connection, owner, TAG, replaced)
        self._add(connection, owner, TAG, tags or {}, fixed)
        self._add(connection, owner, PROPERTY, self._new_properties(connection, owner, properties or {}), fixed)

    def add(
        self,
        connection: Connection,
        owner: int,
        tags: Mapping[str, str | None],
        properties: Mapping[str, str],
        parameters: Mapping[str, str],
        **fixed: Any,
    ) -> None:
        """Store the labels of a new owner."""
        for kind, values in ((TAG, tags), (PROPERTY, properties), (PARAMETER, parameters)):
            self._add(connection, owner, kind, values, fixed)

    def set_parameters(self, connection: Connection, owner: int, values: Mapping[str, str], **fixed: Any) -> None:
        """Add parameters, or replace their values. The caller holds the owner's row."""
        if values:
            self._remove(connection, owner, PARAMETER, values)
            self._add(connection, owner, PARAMETER, values, fixed)

    def move_aliases(
        self, connection: Connection, owner: int, others: ScalarSelect[int], new: Iterable[str], removed: Iterable[str]
    ) -> None:
        """Give the owner the aliases `new`, which the other owners lose, and take away `gone` from it.

        The caller holds a lock for all of them.
        """
        c = self.table.c
        self._remove(connection, owner, ALIAS, removed)
        names = list(new)
        connection.execute(delete(self.table).where(self.owner.in_(others), c.kind == ALIAS, c.name.in_(names)))
        self._add(connection, owner, ALIAS, dict.fromkeys(names), {})

    def _new_properties(self, connection: Connection, owner: int, properties: Mapping[str, str]) -> dict[str, str]:
        if not properties:
            return {}
        have = self.of(connection, [owner])[owner].properties
        for name, value in properties.items():
            if name in have and have[name] != value:
                raise Conflict(
                    f"property {name!r} is {have[name]!r} and cannot become {value!r}",
                    "properties are written once; use a tag for what changes",
                )
        return {name: value for name, value in properties.items() if name not in have}

    def _remove(self, connection: Connection, owner: int, kind: str, names: Iterable[str]) -> None:
        c = self.table.c
        connection.execute(delete(self.table).where(self.owner == owner, c.kind == kind, c.name.in_(list(names))))

    def _add(
        self, connection: Connection, owner: int, kind: str, new: Mapping[str, str | None], fixed: Mapping[str, Any]
    ) -> None:
        rows: list[dict[str, Any]] = []
        for name, value in new.items():
            if not name or len(name) > _LONGEST_NAME:
                raise InvalidInput(f"{name[:300]!r} cannot name a {kind}", f"use 1 to {_LONGEST_NAME} characters")
            row: dict[str, Any] = {self.owner.name: owner, "kind": kind, "name": name, "value": value, **fixed}
            if "head" in self.table.c:
                row["head"] = _head(value)
            if "number" in self.table.c:
                row["number"] = as_number(value)
            rows.append(row)
        if rows:
            connection.execute(self._insert, rows)

    def matches(self, kind: str, name: str, value: str | None) -> list[ColumnElement[bool]]:
        """Return the conditions for a label with that name, and with that value unless it is None."""
        c = self.table.c
        conditions = [c.kind == kind, c.name == name]
        if value is not None and "head" in c:
            conditions.append(c.head == _head(value))
        if value is not None:
            conditions.append(c.value == value)
        return conditions

    def exists_for(self, owner: ColumnElement[Any], kind: str, name: str, value: str | None) -> ColumnElement[bool]:
        """Build a condition that is evaluated per owner. EXISTS would make PostgreSQL begin with all the labels."""
        query = select(self.owner).where(self.owner == owner, *self.matches(kind, name, value))
        return query.correlate_except(self.table).scalar_subquery().is_not(None)


def _head(value: str | None) -> str | None:
    return None if value is None else value[:HEAD_CHARACTERS]


RUN_LABELS = LabelTable(run_labels, "run")
MODEL_LABELS = LabelTable(model_labels, "model")
DATASET_LABELS = LabelTable(dataset_labels, "dataset")
