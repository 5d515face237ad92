"""Metrics: journals arrive as bytes by offset and leave as series."""

from __future__ import annotations

from collections.abc import Callable

from footplate.domain.replies import MetricSeries, MetricSummary
from footplate.storage import RunQuery, Storage


class MetricService:
    def __init__(self, store: Storage, on_append: Callable[[str], None] = lambda run: None) -> None:
        self._store = store
        self._on_append = on_append

    def append(self, run: str, writer: str, stream: str, offset: int, data: bytes, system: bool) -> int:
        self._store.runs.record(run)
        size = self._store.metrics.append(run, writer, stream, offset, data, system)
        self._on_append(run)
        return size

    def read(self, run: str, name: str | None, system: bool, recursive: bool) -> dict[str, list[MetricSeries]]:
        runs = [run, *self._descendants(run)] if recursive else [run]
        return {r: [MetricSeries(**each) for each in self._store.metrics.read(r, name, system)] for r in runs}

    def summary(self, run: str) -> list[MetricSummary]:
        self._store.runs.record(run)
        return [MetricSummary(**each) for each in self._store.metrics.summary(run)]

    def _descendants(self, run: str) -> list[str]:
        workspace = self._store.runs.record(run).workspace
        runs: list[str] = []
        cursor: str | None = None
        while True:
            query = RunQuery(workspace=workspace, parent="any", ancestor=run, ascending=True, limit=1000, cursor=cursor)
            page, cursor = self._store.runs.list(query)
            runs += [v.id for v in page]
            if cursor is None:
                return runs
