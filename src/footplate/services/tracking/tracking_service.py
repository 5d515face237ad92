"""Runs that clients of other trackers log: points, parameters, tags, inputs and searches."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from footplate.domain.records import ExperimentView
from footplate.domain.runs import tracking
from footplate.domain.runs.run_kinds import INTERACTIVE, kind_of
from footplate.domain.runs.tracking import NewPoint, RunInput, RunSearch, TrackedRun
from footplate.domain.specs import RunSpec
from footplate.errors import InvalidInput, NotFound
from footplate.services.metrics import MetricService
from footplate.services.runs import RunService
from footplate.services.topics import Publish, RunChanged
from footplate.storage import Storage


class Author(NamedTuple):
    """Who creates a run: the name that is shown, the run whose token was sent, and the person who owns the new run."""

    name: str
    run: str | None = None
    person: str | None = None


class TrackingService:
    def __init__(self, store: Storage, runs: RunService, metrics: MetricService, publish: Publish) -> None:
        self._store = store
        self._runs = runs
        self._metrics = metrics
        self._publish = publish

    # ── Experiments ───────────────────────────────────────────────────────────────────────────────────────────────────

    def ensure_experiment(self, workspace: str, name: str) -> ExperimentView:
        """Return the experiment with any name, created if needed; names that jobs may use are more restricted."""
        return self._store.experiments.get_or_create(workspace, name, time.time())

    def rename_experiment(self, experiment: str, name: str) -> None:
        self._store.experiments.rename(experiment, name, time.time())

    def archive_experiment(self, experiment: ExperimentView) -> None:
        """Archive an experiment and its active runs."""
        now = time.time()
        self._store.experiments.change(experiment.id, archived=now)
        self._store.tracked_runs.archive_experiment(experiment.id, now)

    def restore_experiment(self, experiment: ExperimentView) -> None:
        """Restore an experiment, and the runs that were archived with it."""
        self._store.experiments.change(experiment.id, archived=False)
        self._store.tracked_runs.archive_experiment(experiment.id, None, experiment.archived)

    # ── Runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def create(
        self,
        experiment: ExperimentView,
        name: str,
        author: Author,
        started: float | None,
        tags: Mapping[str, str],
        type: str | None = None,
    ) -> str:
        """Create a run and return its id. A parent in the tags that cannot have this child stays a tag."""
        rest = {key: value for key, value in tags.items() if key not in (tracking.NAME, tracking.NOTE)}
        parent = rest.get(tracking.PARENT)
        if parent is not None and self._can_be_parent(experiment.workspace, parent):
            del rest[tracking.PARENT]
        else:
            parent = None
        spec = RunSpec(
            experiment.name, INTERACTIVE, type=type, parent=parent, display_name=name,
            description=tags.get(tracking.NOTE), tags=dict(rest),
        )  # fmt: skip
        run = uuid.uuid4().hex
        self._runs.submit(
            experiment.workspace, run, spec, author.name, author.run, person=author.person, created=started
        )
        return run

    def _can_be_parent(self, workspace: str, run: str) -> bool:
        try:
            record = self._store.runs.record(run)
        except NotFound:
            return False
        return record.workspace == workspace and INTERACTIVE in kind_of(record.spec).children

    def get(self, workspace: str, run: str) -> TrackedRun:
        return self._store.tracked_runs.get(run, workspace)

    def search(self, search: RunSearch) -> tuple[list[TrackedRun], bool]:
        """Return a page of runs, and whether there are more."""
        return self._store.tracked_runs.search(search)

    def archive(self, run: str, archived: bool) -> None:
        self._runs.change(run, archived=archived)

    # ── What runs log ─────────────────────────────────────────────────────────────────────────────────────────────────

    def log(
        self,
        run: str,
        points: Sequence[NewPoint] = (),
        parameters: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Log parameters and tags, all or none, and then points. The same request again changes nothing."""
        if parameters or tags:
            self._store.run_labels.log(run, parameters or {}, tags or {})
            self._publish(RunChanged(run))
        if points:
            self._metrics.add_points(run, points)

    def remove_tag(self, run: str, name: str) -> bool:
        """Remove a tag; return whether the run had it."""
        had = self._store.run_labels.remove_tag(run, name)
        self._publish(RunChanged(run))
        return had

    def add_inputs(self, run: str, inputs: Sequence[RunInput]) -> None:
        self._store.tracked_runs.add_inputs(run, inputs)
        self._publish(RunChanged(run))

    def datasets(self, experiments: Iterable[str]) -> list[tuple[str, RunInput]]:
        return self._store.tracked_runs.datasets(experiments)

    # ── Histories ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def history(self, run: str, name: str) -> list[tuple[float, float, float]]:
        """Return all points of a metric as (time, step, value), in this order.

        The step of a point without one is its position, as in other charts.
        """
        return sorted(self._store.metrics.points(run, name), key=_order_of_history)

    def sample(
        self, run: str, name: str, most: int, steps: tuple[float, float] | None = None
    ) -> list[tuple[float, float, float]]:
        """Return at most that many points of a metric by step: evenly chosen, with the last one."""
        if most < 1:
            raise InvalidInput(f"at most {most} points cannot be shown", "request at least one")
        points = self._store.metrics.points(run, name)
        if steps is not None:
            points = [point for point in points if steps[0] <= point[1] <= steps[1]]
        points.sort(key=_order_of_sample)
        if len(points) <= most:
            return points
        chosen = [points[at] for at in _bucket_starts(len(points), most)]
        chosen[-1] = points[-1]
        return chosen


def _bucket_starts(count: int, buckets: int) -> list[int]:
    """Return the first index of each bucket, of which the first ones have one element more than the others."""
    width, longer = divmod(count, buckets)
    return [at * width + min(at, longer) for at in range(buckets)]


def _order_of_history(point: tuple[float, float, float]) -> tuple[float, float, float]:
    time, step, value = point
    return time, step, value if value == value else 0.0


def _order_of_sample(point: tuple[float, float, float]) -> tuple[float, float, float]:
    time, step, value = point
    return step, time, value if value == value else 0.0
