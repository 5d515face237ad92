"""The end of a sweep: its outcome, and the signs in its first trials that no trial can succeed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from footplate.domain.orders import Cause
from footplate.domain.records import Outcome
from footplate.domain.runs.controllers import Child, ChildEnded, ControllerEvent
from footplate.domain.tuning import search_space
from footplate.domain.tuning.sweeps import SweepSpec

_FIRST_TRIALS = 3
"""A sweep whose first trials all fail is given up: the others would fail the same way."""

_ARGUMENT_ERRORS = {
    "error: unrecognized arguments": "add arguments {names} to the script",
    "error: argument ": "give {names} values that the script takes",
    "error: the following arguments are required": "give them beside {names}, as arguments of the script",
}
"""What argparse says, and the next step."""


def hopeless(
    spec: SweepSpec, trials: Sequence[Mapping[str, Any]], children: Mapping[str, Child], event: ControllerEvent
) -> Outcome | None:
    """Return why the first trials show that no trial can succeed; None if they do not."""
    ended = [child for child in children.values() if child.has_ended]
    if any(_missing(spec, child) is None for child in ended):
        return None
    for child in ended:
        cause = child.outcome.cause if child.outcome is not None else None
        words = " ".join([cause.message, *(cause.last_lines or ())]) if cause is not None else ""
        hint = next((hint for error, hint in _ARGUMENT_ERRORS.items() if error in words), None)
        if hint is not None:
            error = words.partition("error: ")[2].strip()[:300]
            message = f"the script does not take the parameters of the sweep: {error}"
            names = ", ".join(search_space.to_arguments(trials[int(child.key)])[::2])
            return Outcome("failed", Cause("bad_parameters", message, hint.format(names=names)))
        if child.status == "Completed":
            return Outcome("failed", _no_metric(spec, child, event))
    failed = [child for child in ended if child.status == "Failed"]
    if len(failed) >= min(_FIRST_TRIALS, spec.max_trials):
        return Outcome("failed", _all_failed(failed))
    return None


def _missing(spec: SweepSpec, child: Child) -> str | None:
    """Return the first metric of the sweep that a trial has not logged as numbers; None if there is none."""
    for each in (*spec.objectives, *spec.constraints):
        logged = child.metrics.get(each.metric)
        # NaN is a number, and no minimum: a trial may diverge, and the next one need not.
        if logged is None or (logged.min is None and logged.last is None):
            return each.metric
    return None


def _no_metric(spec: SweepSpec, child: Child, event: ControllerEvent) -> Cause:
    metric = _missing(spec, child) or spec.primary.metric
    text = child.metrics.get(metric)
    if text is not None:
        return Cause(
            "no_primary_metric",
            f"trial {child.key} logged {metric!r} {text.count} times, but never a number",
            f"log a number: run.log({metric!r}, float(value))",
        )
    logged = event.logged if isinstance(event, ChildEnded) and event.run == child.id else ()
    listed = f"it logged {', '.join(logged)}" if logged else "it logged no metric"
    return Cause(
        "no_primary_metric",
        f"trial {child.key} completed without logging {metric!r}: {listed}",
        f"log it in the script: run.log({metric!r}, value), or name another metric",
    )


def _all_failed(failed: list[Child]) -> Cause:
    first = failed[0]
    why = first.outcome.cause.message if first.outcome is not None and first.outcome.cause is not None else ""
    trials = "trial" if len(failed) == 1 else f"{len(failed)} trials"
    message = f"the first {trials} failed: {why}"
    return Cause("trials_failed", message, f"see: footplate runs show {first.id}")


def outcome(children: Mapping[str, Child]) -> Outcome:
    """Return the outcome of a sweep that has no more trials to run."""
    failed = [child for child in children.values() if child.status == "Failed"]
    if failed and len(failed) == len(children):
        return Outcome("failed", _all_failed(failed))
    return Outcome("completed")
