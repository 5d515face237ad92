"""Children and notes of active groups, held in memory so that an event costs the same however many children there are.

Everything here is also in the store: a server that starts, or that is in doubt, reads a group again as a whole. After
that it reads only children that changed, because every change of a run passes through `mark_changed`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from footplate.domain.runs.controllers import Child
from footplate.domain.specs import ControllerSpec
from footplate.storage import Storage


@dataclass
class KnownGroup:
    """Children by run id, oldest first, and the controller's notes."""

    children: dict[str, Child] = field(default_factory=dict[str, Child])
    notes: list[Any] = field(default_factory=list[Any])
    changed: set[str] = field(default_factory=set[str])


class GroupMemory:
    """The groups that have been consulted since the server started. One thread at a time works on one group."""

    def __init__(self, store: Storage) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._groups: dict[str, KnownGroup] = {}

    def mark_changed(self, group: str, run: str) -> None:
        """Have a child read again before the next decision. Any thread may call this."""
        with self._guard:
            members = self._groups.get(group)
            if members is not None:
                members.changed.add(run)

    def forget(self, group: str) -> None:
        with self._guard:
            self._groups.pop(group, None)

    def update(self, group: str, spec: ControllerSpec) -> tuple[KnownGroup, list[Child]]:
        """Return a group with its children as they are now, and those that were read for that."""
        with self._guard:
            members = self._groups.get(group)
            only = None if members is None else members.changed
            if members is None:
                members = self._groups[group] = KnownGroup()  # registered first: changes during the read are not missed
            members.changed = set()
        try:
            changed = self._read(group, spec, only)
            if only is None:
                members.notes = self._store.runs.notes(group)
        except BaseException:
            self.forget(group)
            raise
        members.children.update((child.id, child) for child in changed)
        return members, changed

    def _read(self, group: str, spec: ControllerSpec, only: Iterable[str] | None) -> list[Child]:
        if only is not None and not only:
            return []
        children = self._store.runs.children_of(group, spec.metrics, only)
        if not spec.metrics or not spec.interval:
            return children
        return [replace(child, series=self.series(child.id, spec.metrics[0])) for child in children]

    def series(self, run: str, metric: str) -> tuple[float, ...]:
        """Return the numbers that a run has logged of a metric, in order."""
        rows = self._store.metrics.read(run, metric)
        return tuple(float(value) for series in rows for _, _, value in series["points"] if _is_number(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
