"""Sweeps: their trials as people see them. The sweep itself is a run, and its controller is `tuning.sweep`."""

from __future__ import annotations

from footplate.domain.runs.controllers import Child
from footplate.domain.specs import ControllerSpec
from footplate.domain.tuning.sweeps import (
    KIND,
    SweepAnalysis,
    SweepSpec,
    TrialView,
    best_of,
    best_values,
    mark_best,
    sweep_of,
)
from footplate.errors import InvalidInput
from footplate.storage import Storage
from footplate.tuning.analysis import analyze
from footplate.tuning.sweep_notes import SweepNotes, TrialNotes


class SweepService:
    def __init__(self, store: Storage) -> None:
        self._store = store

    def trials(self, run: str) -> list[TrialView]:
        """Return the trials of a sweep by number: three queries, however many there are."""
        spec = _controller(run, self._store.runs.record(run).spec.controller)
        notes = SweepNotes().add_all(self._store.runs.notes(run))
        children = {child.key: child for child in self._store.runs.children_of(run, spec.metrics)}
        sweep = sweep_of(spec)
        return mark_best(
            [
                view_of(number, trial, children[str(number)], sweep)
                for number, trial in enumerate(notes.trials)
                if str(number) in children
            ],
            sweep,
        )

    def analysis(self, run: str) -> SweepAnalysis:
        """Return what the trials tell about the parameters."""
        spec = _controller(run, self._store.runs.record(run).spec.controller)
        return analyze(sweep_of(spec), self.trials(run))


def _controller(run: str, spec: ControllerSpec | None) -> ControllerSpec:
    if spec is None or spec.kind != KIND:
        raise InvalidInput(f"run {run} is not a sweep", "list sweeps with: footplate sweep list")
    return spec


def view_of(number: int, trial: TrialNotes, child: Child, sweep: SweepSpec) -> TrialView:
    """Return one trial as people see it."""
    values, violations = best_values(sweep, child.metrics)
    primary = child.metrics.get(sweep.primary.metric)
    is_cut = child.status not in ("Completed", "Failed")  # it may have ended before the order to stop arrived
    return TrialView(
        number, child.id, trial.parameters, child.status,
        best=best_of(primary, sweep.primary.goal), values=tuple(values or ()),
        intervals=0 if primary is None else primary.count, stopped=trial.stopped if is_cut else None,
        violations=tuple(violations or ()),
        is_feasible=violations is not None and all(violation <= 0 for violation in violations),
        paused=trial.paused_at if is_cut else 0, source=trial.source, started=child.started, ended=child.ended,
    )  # fmt: skip
