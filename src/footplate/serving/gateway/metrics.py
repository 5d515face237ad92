"""Figures of services: Prometheus' text for people's monitoring, percentiles for the server's decisions."""

from __future__ import annotations

import bisect
import time
from collections import deque
from collections.abc import Iterable

from footplate.domain.serving.rollouts import VersionFigures

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_RECENT_SECONDS = 60.0
_RECENT_MOST = 20_000


class Histogram:
    """Counts of values by upper bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect.bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str, labels: str) -> Iterable[str]:
        """Yield the lines of Prometheus' text format."""
        total = 0
        for bound, count in zip((*self.bounds, "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {total}'
        yield f"{name}_sum{{{labels}}} {self.sum:.6f}"
        yield f"{name}_count{{{labels}}} {total}"


class RecentCount:
    """Events of the last minute."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=_RECENT_MOST)

    def add(self) -> None:
        self._times.append(time.monotonic())

    def count(self) -> int:
        since = time.monotonic() - _RECENT_SECONDS
        while self._times and self._times[0] < since:
            self._times.popleft()
        return len(self._times)


class VersionMetrics:
    """Figures of one version of a service."""

    def __init__(self, service: str, version: str) -> None:
        self.labels = f'service="{service}",version="{version}"'
        self.statuses: dict[int, int] = {}
        self.seconds = Histogram(BUCKETS)
        self.batches = Histogram(SIZES)
        self.retries = 0
        self.shadow_differences = 0
        self.faults = RecentCount()  # failures that a version from before does not have
        self.slow = RecentCount()  # answers that such a version gives much faster
        self.p99_work: float | None = None
        self._recent: deque[tuple[float, float, bool, float]] = deque(maxlen=_RECENT_MOST)

    def add_answer(self, status: int, seconds: float, work: float) -> None:
        """Count an answer, the time since its request, and the part of it that a worker was busy with it."""
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.seconds.add(seconds)
        self._recent.append((time.monotonic(), seconds, status >= 500, work))

    def figures(self, healthy: int, queue: int, running: int) -> VersionFigures:
        """Return the figures that the server decides by."""
        since = time.monotonic() - _RECENT_SECONDS
        while self._recent and self._recent[0][0] < since:
            self._recent.popleft()
        times = sorted(seconds for _, seconds, _, _ in self._recent)
        errors = sum(failed for _, _, failed, _ in self._recent)
        self.p99_work = _p99(sorted(work for _, _, _, work in self._recent if work)) or self.p99_work
        return VersionFigures(
            healthy,
            queue,
            running,
            self.retries,
            self.shadow_differences,
            requests=len(times),
            errors=errors,
            faults=self.faults.count(),
            slow=self.slow.count(),
            p50_seconds=times[len(times) // 2] if times else None,
            p99_seconds=_p99(times),
        )

    def families(self, queue: int, workers: int) -> Iterable[Iterable[str]]:
        """Yield the lines of each family of `FAMILIES`, in Prometheus' text format."""
        yield (f'footplate_requests_total{{{self.labels},status="{s}"}} {n}' for s, n in sorted(self.statuses.items()))
        yield self.seconds.lines("footplate_request_seconds", self.labels)
        yield self.batches.lines("footplate_batch_size", self.labels)
        yield [f"footplate_queue_length{{{self.labels}}} {queue}"]
        yield [f"footplate_workers{{{self.labels}}} {workers}"]
        yield [f"footplate_retries_total{{{self.labels}}} {self.retries}"]
        yield [f"footplate_shadow_differences_total{{{self.labels}}} {self.shadow_differences}"]


def _p99(ordered: list[float]) -> float | None:
    return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] if ordered else None


FAMILIES = (
    ("footplate_requests_total", "counter", "Requests that were answered, by status."),
    ("footplate_request_seconds", "histogram", "Time from a request to its answer, waiting included."),
    ("footplate_batch_size", "histogram", "Requests that a worker got together."),
    ("footplate_queue_length", "gauge", "Requests that wait for a worker."),
    ("footplate_workers", "gauge", "Workers that are up."),
    ("footplate_retries_total", "counter", "Requests that were sent again because their worker ended."),
    ("footplate_shadow_differences_total", "counter", "Answers of a shadow that differ from those of the service."),
)


def text(versions: Iterable[tuple[VersionMetrics, int, int]]) -> str:
    """Return Prometheus' text: the lines of all versions, family by family, as the format demands.

    Each version comes with the length of its queue and its number of workers.
    """
    by_version = [list(figures.families(queue, workers)) for figures, queue, workers in versions]
    lines: list[str] = []
    for place, (name, kind, words) in enumerate(FAMILIES):
        lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
        lines += [line for families in by_version for line in families[place]]
    return "\n".join(lines) + "\n"
