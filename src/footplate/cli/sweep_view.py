"""Trials of a sweep on the terminal: a table that is drawn again as it changes, and the summary below it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

import click

from footplate.cli.console import counted, duration, emit, is_terminal, number, say, sparkline, with_options
from footplate.cli.follow import CANCELED
from footplate.cli.tables import print_table, terminal_lines
from footplate.domain.runs.run_status import TERMINAL
from footplate.domain.tuning.sweeps import SweepSpec, TrialView
from footplate.sdk.sweep_run import HyperDriveRun

_WIDTH = 16
_FEWEST_ROWS = 4
_TICK_SECONDS = 1.0


def watch(found: HyperDriveRun, spec: SweepSpec, as_json: bool) -> int:
    """Show the trials until the sweep ends: a live table on a terminal, and otherwise a line for each that ends."""
    view = _LiveTable(found, spec) if is_terminal(sys.stderr) and not as_json else _Lines(spec)
    try:
        while True:
            status, trials = found.get_status(), found.get_trials()
            view.show(trials)
            if status in TERMINAL:
                break
            found.wait_for_change(_TICK_SECONDS if isinstance(view, _LiveTable) else 5.0)
    except KeyboardInterrupt:
        say(f"\nthe sweep goes on; end it with: footplate sweep stop {found.id}")
        return CANCELED
    view.clear()
    if as_json:
        emit(trials)
    else:
        print_trials(found, trials, spec)
    say_end(found, trials, spec)
    return 0 if status == "Completed" else 1


def say_end(found: HyperDriveRun, trials: Sequence[TrialView], spec: SweepSpec) -> None:
    """Say why a sweep failed, or ended before its last trial, and what came of it."""
    view = found.experiment.workspace.session.api.runs.get(found.id)
    cause = view.outcome.cause if view.outcome is not None else None
    if cause is not None:
        say(f"{cause.message}\nhint: {with_options(cause.hint)}" if cause.hint else cause.message)
    say(summary(trials, spec), view.status)


class _Lines:
    """A line for each trial that has ended, for pipes and logs."""

    def __init__(self, spec: SweepSpec) -> None:
        self._spec = spec
        self._shown: set[int] = set()

    def show(self, trials: Sequence[TrialView]) -> None:
        for trial in trials:
            if trial.status in TERMINAL and trial.number not in self._shown:
                self._shown.add(trial.number)
                say(_line(trial, self._spec), trial.status)

    def clear(self) -> None:
        """Do nothing: lines stay."""


class _LiveTable:
    """The newest trials and the best one, drawn over the last drawing. Curves of ended trials are read once."""

    def __init__(self, found: HyperDriveRun, spec: SweepSpec) -> None:
        self._found, self._spec = found, spec
        self._curves: dict[str, str] = {}
        self._height = 0

    def show(self, trials: Sequence[TrialView]) -> None:
        room, height = shutil.get_terminal_size()
        rows = max(_FEWEST_ROWS, height - 5)
        lines = self._lines(trials, rows)
        parts = lines.count("") + 1  # a wide table is continued below, with the same rows
        if parts > 1:
            lines = self._lines(trials, max(_FEWEST_ROWS, (height - 2) // parts - 3))
        self.clear()
        for line in lines:
            click.echo(line, err=True)
        self._height = sum(max(1, -(-len(click.unstyle(line)) // room)) for line in lines)

    def _lines(self, trials: Sequence[TrialView], rows: int) -> list[str]:
        visible = [trial for trial in trials if trial.is_best or trial.number >= len(trials) - rows + 1][-rows:]
        columns, rows_of_cells = _cells(visible, self._spec, self._curves_of(visible))
        table_lines = terminal_lines(columns, rows_of_cells, right=_right(self._spec), shrink=_SHRINK, drop=_DROP)
        return [*table_lines, summary(trials, self._spec)]

    def clear(self) -> None:
        if self._height:
            click.echo(f"\x1b[{self._height}F\x1b[J", err=True, nl=False)
            self._height = 0

    def _curves_of(self, trials: Sequence[TrialView]) -> dict[str, str]:
        running: dict[str, str] = {}
        for trial in trials:
            if trial.intervals and trial.run not in self._curves:
                curves = running if trial.ended is None else self._curves
                curves[trial.run] = _curve(self._found, trial.run, self._spec.primary.metric)
        return {**self._curves, **running}


def _curve(found: HyperDriveRun, run: str, metric: str) -> str:
    return sparkline(found.get_series(run, metric), _WIDTH)


def _line(trial: TrialView, spec: SweepSpec) -> str:
    value = "no metric" if trial.best is None else f"{spec.primary.metric} {number(trial.best)}"
    why = f"  ({trial.stopped})" if trial.stopped else ""
    return f"trial {trial.number}: {trial.status}  {value}  {parameters(trial)}{why}"


def parameters(trial: TrialView) -> str:
    return " ".join(f"{name.lstrip('-')}={number(value)}" for name, value in trial.parameters.items())


def print_trials(found: HyperDriveRun, trials: Sequence[TrialView], spec: SweepSpec) -> None:
    """Print all trials, with the course of each on a terminal."""
    curves = {t.run: _curve(found, t.run, spec.primary.metric) for t in trials if t.intervals and is_terminal()}
    columns, rows = _cells(trials, spec, curves)
    print_table(columns, rows, right=_right(spec), shrink=_SHRINK, drop=_DROP)


_SHRINK = ("stopped because",)
_DROP = ("stopped because", "time", "course")


def _right(spec: SweepSpec) -> list[str]:
    return ["trial", *(objective.metric for objective in spec.objectives)]


def _cells(trials: Sequence[TrialView], spec: SweepSpec, curves: dict[str, str]) -> tuple[list[str], list[list[str]]]:
    names = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
    metrics = [objective.metric for objective in spec.objectives]
    columns = ["trial", "", "status", *metrics, "course", *(name.lstrip("-") for name in names), "time", *_SHRINK]
    rows = [
        [
            str(trial.number), "★" if trial.is_best else "", trial.status, *_values(trial, len(metrics)),
            curves.get(trial.run, ""), *(_cell(trial, name) for name in names),
            duration(trial.ended - trial.started) if trial.ended and trial.started else "", _why(trial),
        ]
        for trial in trials
    ]  # fmt: skip
    return columns, rows


def _values(trial: TrialView, count: int) -> list[str]:
    if trial.values:
        return [number(value) for value in trial.values]
    return [number(trial.best) if trial.best is not None else "", *[""] * (count - 1)]


def _cell(trial: TrialView, name: str) -> str:
    value = trial.parameters.get(name)
    return "" if name not in trial.parameters else f"{value:.4g}" if isinstance(value, float) else number(value)


def _why(trial: TrialView) -> str:
    if trial.stopped:
        return trial.stopped
    if trial.paused:
        return f"paused at interval {trial.paused}"
    return "" if trial.is_feasible or not trial.ended else "a constraint is broken"


def summary(trials: Sequence[TrialView], spec: SweepSpec) -> str:
    """Return the best so far, and the time that early termination saved."""
    best = [trial for trial in trials if trial.is_best]
    ended = sum(trial.status in TERMINAL for trial in trials)
    parts = [counted(len(trials), "trial") + (f", {len(trials) - ended} running" if ended < len(trials) else "")]
    if len(spec.objectives) > 1 and best:
        parts.append(f"{len(best)} on the Pareto front: {', '.join(str(trial.number) for trial in best)}")
    elif best:
        value = number(best[0].best)
        parts.append(f"best {spec.primary.metric} {value} in trial {best[0].number} ({parameters(best[0])})")
    stopped = [trial for trial in trials if trial.stopped or trial.paused]
    if stopped:
        parts.append(f"{len(stopped)} stopped early{_estimate_savings(trials, stopped)}")
    return "; ".join(parts)


def _estimate_savings(trials: Sequence[TrialView], stopped: Sequence[TrialView]) -> str:
    """Estimate the time that stopped trials would have taken, as long as trials that ran to their end."""

    def seconds(chosen: Sequence[TrialView]) -> list[float]:
        return [trial.ended - trial.started for trial in chosen if trial.ended and trial.started]

    whole = seconds([trial for trial in trials if trial.status == "Completed"])
    short = seconds(stopped)
    if not whole or not short:
        return ""
    return f", about {duration(max(0.0, len(short) * sum(whole) / len(whole) - sum(short)))} saved"
