"""Recognizes records that arrive late: threads that store changes of one run may report them in another order."""

from __future__ import annotations

from footplate.domain.records import RunRecord, Stage

_ENDED_KEPT = 5_000
"""How many ended runs are remembered: an older record must not bring one back."""


class RecordOrder:
    """Versions of the records that were shown last. The caller holds a lock."""

    def __init__(self, ended_kept: int = _ENDED_KEPT) -> None:
        self._limit = ended_kept
        self._active: dict[str, int] = {}
        self._ended: dict[str, int] = {}  # oldest first

    def begin(self, run: str) -> None:
        """Forget a deleted run whose id is used again."""
        self._ended.pop(run, None)

    def take(self, record: RunRecord) -> bool:
        """Remember a record and return True, unless a newer one of this run was shown."""
        if record.version < self._active.get(record.id, self._ended.get(record.id, -1)):
            return False
        self._active.pop(record.id, None)
        self._ended.pop(record.id, None)
        (self._ended if record.stage is Stage.ENDED else self._active)[record.id] = record.version
        if len(self._ended) > self._limit:
            del self._ended[next(iter(self._ended))]
        return True
