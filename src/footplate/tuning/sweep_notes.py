"""The past of a sweep: the notes that its controller takes, and the trials that follow from them.

    {"ask": parameters}                   the sampler drew the next trial
    {"copy": parameters, "of": trial, "interval": n}    the next trial begins with the outputs of another one
    {"tell": trial, "values": […], "violations": […]}   the sampler learned how a trial ended; null: a metric is missing
    {"stop": trial, "why": reason}        the policy ended a trial early
    {"pause": trial, "interval": n}       the policy paused a trial when it had logged the metric n times
    {"resume": trial}                     it goes on, from its own outputs
    {"retry": trial, "attempt": n}        it failed or was canceled with the sweep, which was resumed: it runs again

A trial's number is its key, and its run is <sweep>_<number>.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from footplate.tuning.samplers import Call, TrialResult


@dataclass
class TrialNotes:
    """One trial: `draw` is its number among the draws of the sampler; None if the sampler does not know it."""

    parameters: dict[str, Any]
    draw: int | None = None
    source: int | None = None  # the trial whose outputs it began with
    source_interval: int = 0
    attempt: int = 1  # the one whose end counts
    is_told: bool = False
    stopped: str | None = None
    paused_at: int = 0  # 0: not paused
    resumed_at: int = 0  # the interval of the last pause that is over


@dataclass
class SweepNotes:
    trials: list[TrialNotes] = field(default_factory=list[TrialNotes])
    calls: list[Call] = field(default_factory=list[Call])
    draws: list[int] = field(default_factory=list[int])  # the number of the trial, by draw
    length: int = 0

    def add(self, note: dict[str, Any]) -> None:
        """Take one more note into account."""
        self.length += 1
        kind = next(iter(note))
        getattr(self, f"_{kind}")(note)

    def add_all(self, notes: Iterable[dict[str, Any]]) -> SweepNotes:
        for note in notes:
            self.add(note)
        return self

    def _ask(self, note: dict[str, Any]) -> None:
        self.calls.append(None)
        self.trials.append(TrialNotes(note["ask"], draw=len(self.draws)))
        self.draws.append(len(self.trials) - 1)

    def _copy(self, note: dict[str, Any]) -> None:
        self.trials.append(TrialNotes(note["copy"], source=note["of"], source_interval=note["interval"]))

    def _tell(self, note: dict[str, Any]) -> None:
        trial = self.trials[int(note["tell"])]
        trial.is_told = True
        if trial.draw is not None:
            self.calls.append((trial.draw, result_of(note)))

    def _stop(self, note: dict[str, Any]) -> None:
        trial = self.trials[int(note["stop"])]
        trial.stopped = note["why"]
        trial.paused_at = 0

    def _pause(self, note: dict[str, Any]) -> None:
        self.trials[int(note["pause"])].paused_at = note["interval"]

    def _resume(self, note: dict[str, Any]) -> None:
        trial = self.trials[int(note["resume"])]
        trial.resumed_at, trial.paused_at = trial.paused_at, 0

    def _retry(self, note: dict[str, Any]) -> None:
        trial = self.trials[int(note["retry"])]
        trial.attempt = note["attempt"]
        trial.is_told = False


def result_of(note: dict[str, Any]) -> TrialResult:
    """Return the result that a `tell` reports."""
    values: list[float] | None = note["values"]
    violations: list[float] | None = note["violations"]
    if values is None or violations is None:
        return TrialResult(None)
    return TrialResult(tuple(values), tuple(violations))
