"""Parameters and tags that arrive in batches. A parameter never changes: the same value again is a repeated request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from footplate.domain.runs import tracking
from footplate.errors import Conflict
from footplate.storage.database import Database
from footplate.storage.labels import PARAMETER, RUN_LABELS, TAG
from footplate.storage.run_keys import RunKeys
from footplate.storage.schema import run_labels, runs

_FIELDS = {tracking.NAME: "display_name", tracking.NOTE: "description"}
_VALUES = select(run_labels.c.name, run_labels.c.value).where(
    run_labels.c.run == bindparam("run"),
    run_labels.c.kind == bindparam("kind"),
    run_labels.c.name.in_(bindparam("names", expanding=True)),
)


class ParameterChanged(Conflict):
    """Parameters that have other values. `details["changed"]` are (name, old, new)."""


class RunLabels:
    def __init__(self, database: Database, keys: RunKeys) -> None:
        self._database = database
        self._keys = keys

    def log(self, run: str, parameters: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Add parameters and set tags, all of them or none. Tags that are fields of the run change those."""
        with self._database.write() as connection:
            key, experiment = self._keys.of(run, connection)
            self._database.hold(connection, runs.c.key, key)
            fresh = _new_parameters(connection, key, parameters)
            fields = {_FIELDS[name]: value for name, value in tags.items() if name in _FIELDS}
            if fields:
                connection.execute(update(runs).where(runs.c.key == key).values(**fields))
            rest = {name: value for name, value in tags.items() if name not in _FIELDS}
            if rest:
                RUN_LABELS.change(connection, key, rest, (), None, experiment=experiment)
            if fresh:
                RUN_LABELS.add(connection, key, {}, {}, fresh, experiment=experiment)

    def remove_tag(self, run: str, name: str) -> bool:
        """Remove a tag; return whether the run had it."""
        with self._database.write() as connection:
            key, experiment = self._keys.of(run, connection)
            self._database.hold(connection, runs.c.key, key)
            if name in _FIELDS:
                column = runs.c[_FIELDS[name]]
                cleared = update(runs).where(runs.c.key == key, column.is_not(None)).values({column: None})
                return connection.execute(cleared).rowcount > 0
            had = connection.execute(_VALUES, {"run": key, "kind": TAG, "names": [name]}).first() is not None
            RUN_LABELS.change(connection, key, None, (name,), None, experiment=experiment)
            return had


def _new_parameters(connection: Connection, key: int, parameters: Mapping[str, str]) -> dict[str, str]:
    if not parameters:
        return {}
    have = _values(connection, key, PARAMETER, parameters)
    changed = [(name, have[name], value) for name, value in parameters.items() if have.get(name, value) != value]
    if changed:
        name, old, new = changed[0]
        message = f"parameter {name!r} is {old!r} and cannot become {new!r}"
        raise ParameterChanged(message, "use a tag for what changes", changed=changed)
    return {name: value for name, value in parameters.items() if name not in have}


def _values(connection: Connection, key: int, kind: str, names: Collection[str]) -> dict[str, Any]:
    rows = connection.execute(_VALUES, {"run": key, "kind": kind, "names": list(names)})
    return {row.name: row.value for row in rows}
