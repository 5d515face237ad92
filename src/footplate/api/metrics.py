"""Metrics: journals go in as bytes by offset, series come out."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Sequence

from footplate.api.base import ApiNoun
from footplate.domain.codec import from_json
from footplate.domain.replies import AppendedBytes, LoggedPoint, MetricSeries, MetricSummary, SeriesGrid


class MetricsApi(ApiNoun):
    def append(self, run: str, writer: str, stream: str, data: bytes, offset: int, system: bool = False) -> int:
        """Append to the `slots` or `text` of a journal; return the new size. Bytes that the server has are skipped.

        Raises Conflict with `details["size"]` when bytes before `offset` are missing. `system` marks machine samples.
        """
        query = {"offset": offset, "system": system or None}
        path = "/runs/{run}/journals/{writer}/{stream}"
        return self._upload(AppendedBytes, path, data, query, run=run, writer=writer, stream=stream).size

    def read(
        self, run: str, *, name: Optional[str] = None, system: bool = False, recursive: bool = False
    ) -> Dict[str, List[MetricSeries]]:
        """Return the series of a run, and with `recursive` of the runs below it, by run id."""
        query = {"name": name, "system": system or None, "recursive": recursive or None}
        by_run = self._send("GET", "/runs/{run}/metrics", query, run=run)
        return {each: [from_json(MetricSeries, one) for one in series] for each, series in by_run.items()}

    def summary(self, run: str) -> Iterator[MetricSummary]:
        return self._items(MetricSummary, "/runs/{run}/metrics/summary", run=run)

    def find_point(
        self, run: str, name: str, *, step: Optional[float] = None, seconds: Optional[float] = None
    ) -> LoggedPoint:
        """Return when a metric logged the point nearest to a step, or to so many seconds after its first point."""
        query = {"name": name, "step": step, "seconds": seconds}
        return self._get(LoggedPoint, "/runs/{run}/metrics/point", query, run=run)

    def grid(
        self,
        workspace: str,
        *,
        run: Sequence[str],
        name: Sequence[str],
        axis: str = "step",
        low: Optional[float] = None,
        high: Optional[float] = None,
        pixels: Optional[int] = None,
        system: bool = False,
        smooth: Optional[float] = None,
        window: Optional[int] = None,
        by_rank: bool = False,
    ) -> SeriesGrid:
        """Return metrics of several runs on one grid, over `step`, `time`, `relative` time or `metric:NAME`.

        `smooth`: weight of an exponential average. `window`: points of a moving one. `by_rank`: a curve for each rank.
        """
        query = {
            "run": run, "name": name, "axis": axis, "low": low, "high": high, "pixels": pixels,
            "system": system or None, "smooth": smooth, "window": window, "by_rank": by_rank or None,
        }  # fmt: skip
        return self._get(SeriesGrid, "/workspaces/{workspace}/series", query, workspace=workspace)

    def export(
        self, workspace: str, *, run: Sequence[str], name: Sequence[str], system: bool = False
    ) -> Iterator[bytes]:
        """Yield every point of these metrics as CSV, piece by piece."""
        query = {"run": run, "name": name, "system": system or None}
        return self._download("/workspaces/{workspace}/series/csv", query, workspace=workspace)
