"""Sweeps: their trials as people see them. The sweep itself is a run, and its controller is `tuning.sweep`."""

from __future__ import annotations

from typing import Any

from footplate.domain.runs.controllers import Child
from footplate.domain.runs.group_transitions import group_state
from footplate.domain.specs import ControllerSpec
from footplate.domain.tuning.early_stopping import MAXIMIZE
from footplate.domain.tuning.sweeps import KIND, SweepSpec, TrialView, sweep_of
from footplate.errors import InvalidInput
from footplate.storage import Storage


class SweepService:
    def __init__(self, store: Storage) -> None:
        self._store = store

    def trials(self, run: str) -> list[TrialView]:
        """Return the trials of a sweep by number: three queries, however many there are."""
        record = self._store.runs.record(run)
        spec = _controller(run, record.spec.controller)
        state = group_state(record).decision.state
        children = {child.key: child for child in self._store.runs.children_of(run, spec.metrics)}
        sweep = sweep_of(spec)
        return [
            _trial(number, parameters, children[str(number)], sweep, state)
            for number, parameters in enumerate(state.get("trials", []))
            if str(number) in children
        ]


def _controller(run: str, spec: ControllerSpec | None) -> ControllerSpec:
    if spec is None or spec.kind != KIND:
        raise InvalidInput(f"run {run} is not a sweep", "list sweeps with: footplate sweep list")
    return spec


def _trial(number: int, parameters: dict[str, Any], child: Child, sweep: SweepSpec, state: dict[str, Any]) -> TrialView:
    found = [child.metrics.get(objective.metric) for objective in sweep.objectives]
    values = [
        None if summary is None else (summary.max if objective.goal == MAXIMIZE else summary.min)
        for summary, objective in zip(found, sweep.objectives, strict=True)
    ]
    known = [value for value in values if value is not None]
    return TrialView(
        number, child.id, parameters, child.status,
        best=values[0], values=tuple(known) if len(known) == len(values) else (),
        intervals=0 if found[0] is None else found[0].count,
        stopped=state.get("stopped", {}).get(str(number)),
        started=child.started, ended=child.ended,
    )  # fmt: skip
