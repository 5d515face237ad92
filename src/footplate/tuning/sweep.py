"""The controller of a sweep: which trials are submitted, which are stopped early, and when the sweep ends.

The state holds the parameters of every trial and the calls of the sampler in order. A sampler is deterministic given
its seed and those calls, so a server that was killed replays them and continues exactly where the last one stopped.

    trials    parameters by number; a trial's number is its key, and its run is <sweep>_<number>
    calls     null for an `ask`, [number, values] for a `tell`
    history   values of the primary metric by trial, for the early termination policy
    stopped   reasons by trial
    began     time of the first decision
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from footplate.domain.records import Cause, Outcome
from footplate.domain.runs.controllers import (
    CancelChild,
    Child,
    ChildEnded,
    ChildMetric,
    ChildMetricReported,
    ChildRefused,
    ControllerEvent,
    Group,
    GroupDecision,
    SubmitChild,
)
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.domain.tuning import search_space
from footplate.domain.tuning.early_stopping import MAXIMIZE, reason_to_stop
from footplate.domain.tuning.sweeps import HYPERPARAMETERS, TEMPLATE, Objective, SweepSpec, check_sweep, sweep_of
from footplate.errors import InvalidInput
from footplate.tuning.samplers import Call, ParameterSampler, SamplerContext, TrialResult, make_sampler, replay

_FIRST_TRIALS = 3
"""A sweep whose first trials all fail is given up: the others would fail the same way."""

_ARGUMENT_ERRORS = ("error: unrecognized arguments", "error: argument ", "error: the following arguments are required")


@dataclass
class _Sweep:
    """One sweep in the midst of a decision."""

    spec: SweepSpec
    template: RunSpec
    state: dict[str, Any]
    children: dict[str, Child]

    @property
    def trials(self) -> list[dict[str, Any]]:
        return self.state["trials"]

    @property
    def running(self) -> list[Child]:
        return [child for child in self.children.values() if not child.has_ended]

    def best(self, child: Child, objective: Objective) -> float | None:
        """Return the best value over the whole series, as Azure does, and not the last."""
        found = child.metrics.get(objective.metric)
        return _best(found, objective.goal)


class SweepController:
    """The controller `sweep`. Samplers are kept between decisions, and made again by replaying the calls."""

    def __init__(self) -> None:
        self._samplers: dict[str, tuple[int, ParameterSampler]] = {}

    def check(self, spec: ControllerSpec) -> None:
        sweep = sweep_of(spec)
        check_sweep(sweep)
        if TEMPLATE not in spec.children:
            raise InvalidInput("the sweep has no trials to run", f"give the specification of a trial as {TEMPLATE!r}")
        make_sampler(sweep.sampler, _context(sweep))  # refuses an unknown sampler and its options now

    def decide(self, group: Group, children: Sequence[Child], event: ControllerEvent, now: float) -> GroupDecision:
        state: dict[str, Any] = {
            "trials": [], "calls": [], "history": {}, "stopped": {}, "began": now, **group.state,
        }  # fmt: skip
        spec = sweep_of(group.controller)
        sweep = _Sweep(spec, group.controller.children[TEMPLATE], state, {child.key: child for child in children})
        if group.outcome is not None:
            self._samplers.pop(group.id, None)
            return GroupDecision(state)
        sampler = self._sampler(group.id, sweep)
        self._tell_ended(sweep, sampler)
        over = _reason_to_end(sweep, event, now)
        if over is not None:
            self._samplers.pop(group.id, None)
            return GroupDecision(state, end=over)
        cancel = _stop_early(sweep, group.id, event)
        submit = self._ask(sweep, sampler)
        self._samplers[group.id] = (len(state["calls"]), sampler)
        if not submit and not sweep.running and not _unsubmitted(sweep):
            return GroupDecision(state, end=_outcome(sweep))
        return GroupDecision(state, submit, cancel, wake_at=state["began"] + spec.max_seconds)

    def _sampler(self, group: str, sweep: _Sweep) -> ParameterSampler:
        calls = sweep.state["calls"]
        known = self._samplers.get(group)
        if known is not None and known[0] == len(calls):
            return known[1]
        return replay(make_sampler(sweep.spec.sampler, _context(sweep.spec)), map(_call, calls))

    @staticmethod
    def _tell_ended(sweep: _Sweep, sampler: ParameterSampler) -> None:
        """Tell the sampler how trials ended that it does not know of yet, each once."""
        told = {call[0] for call in sweep.state["calls"] if call is not None}
        for key, child in sweep.children.items():
            if not child.has_ended or not key.isdigit() or int(key) in told:
                continue
            values = [sweep.best(child, objective) for objective in sweep.spec.objectives]
            known = [value for value in values if value is not None]
            result = known if len(known) == len(values) else None
            sweep.state["calls"].append([int(key), result])
            sampler.tell(int(key), TrialResult(None if result is None else tuple(result)))

    @staticmethod
    def _ask(sweep: _Sweep, sampler: ParameterSampler) -> tuple[SubmitChild, ...]:
        """Draw trials while there is room; submit again those that an earlier server drew and did not submit."""
        spec = sweep.spec
        room = (spec.max_concurrent or spec.max_trials) - len(sweep.running) - len(_unsubmitted(sweep))
        while room > 0 and len(sweep.trials) < spec.max_trials and not sweep.state.get("exhausted"):
            drawn = sampler.ask()
            if drawn is None:
                sweep.state["exhausted"] = True
                break
            sweep.state["calls"].append(None)
            sweep.trials.append(drawn)
            room -= 1
        return tuple(SubmitChild(key, trial_spec(sweep.template, drawn)) for key, drawn in _unsubmitted(sweep))


def trial_spec(template: RunSpec, values: dict[str, Any]) -> RunSpec:
    """Return the spec of one trial: the values come behind the template's own arguments, so that they win."""
    arguments = search_space.to_arguments(values)
    program = template.program
    if program is not None and program.script is not None:
        program = replace(program, arguments=(*program.arguments, *arguments))
    elif program is not None and program.command is not None:
        program = replace(program, command=" ".join([program.command, *map(_quoted, arguments)]))
    properties = {**template.properties, HYPERPARAMETERS: search_space.to_text(values)}
    return replace(template, program=program, properties=properties)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _context(spec: SweepSpec) -> SamplerContext:
    goals = tuple(objective.goal for objective in spec.objectives)
    return SamplerContext(spec.space, goals, spec.seed, spec.sampler_options)


def _call(call: Any) -> Call:
    return None if call is None else (int(call[0]), TrialResult(None if call[1] is None else tuple(call[1])))


def _best(summary: ChildMetric | None, goal: str) -> float | None:
    if summary is None:
        return None
    value = summary.max if goal == MAXIMIZE else summary.min
    return None if value is None or math.isnan(value) else value


def _unsubmitted(sweep: _Sweep) -> list[tuple[str, dict[str, Any]]]:
    return [(str(n), drawn) for n, drawn in enumerate(sweep.trials) if str(n) not in sweep.children]


# ── Early termination ─────────────────────────────────────────────────────────────────────────────────────────────────


def _stop_early(sweep: _Sweep, group: str, event: ControllerEvent) -> tuple[CancelChild, ...]:
    """Apply the policy to the trial that has just logged the metric."""
    if not isinstance(event, ChildMetricReported) or sweep.spec.policy.kind == "none":
        return ()
    key = event.run[len(group) + 1 :]
    history: dict[str, list[float]] = sweep.state["history"]
    known = len(history.get(key, ()))
    history[key] = list(event.values)
    child = sweep.children.get(key)
    if child is None or child.has_ended or key in sweep.state["stopped"]:
        return ()
    for interval in range(known + 1, len(event.values) + 1):  # several values may have come at once
        seen = {**history, key: history[key][:interval]}
        reason = reason_to_stop(sweep.spec.policy, sweep.spec.primary.goal, key, seen)
        if reason is not None:
            sweep.state["stopped"][key] = reason
            return (CancelChild(key, f"stopped early by the {sweep.spec.policy.kind} policy: {reason}"),)
    return ()


# ── The end ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _reason_to_end(sweep: _Sweep, event: ControllerEvent, now: float) -> Outcome | None:
    if now >= sweep.state["began"] + sweep.spec.max_seconds:
        return Outcome("completed", Cause("time_limit", f"the sweep reached its limit of {sweep.spec.max_seconds:g} s"))
    if isinstance(event, ChildRefused):
        cause = Cause("child_refused", f"trial {event.key} was refused: {event.cause.message}", event.cause.hint)
        return Outcome("failed", cause)
    return _hopeless(sweep, event)


def _hopeless(sweep: _Sweep, event: ControllerEvent) -> Outcome | None:
    """Return why the first trials show that no trial can succeed; None if they do not."""
    ended = [child for child in sweep.children.values() if child.has_ended]
    if any(sweep.best(child, sweep.spec.primary) is not None for child in ended):
        return None
    for child in ended:
        cause = child.outcome.cause if child.outcome is not None else None
        words = " ".join([cause.message, *(cause.last_lines or ())]) if cause is not None else ""
        if any(known in words for known in _ARGUMENT_ERRORS):
            message = f"the script does not take the parameters of the sweep: {_argument_error(words)}"
            names = ", ".join(search_space.to_arguments(sweep.trials[int(child.key)])[::2])
            return Outcome("failed", Cause("bad_parameters", message, f"add arguments {names} to the script"))
        if child.status == "Completed":
            return Outcome("failed", _no_metric(sweep, child, event))
    failed = [child for child in ended if child.status == "Failed"]
    if len(failed) >= min(_FIRST_TRIALS, sweep.spec.max_trials):
        return Outcome("failed", _all_failed(failed))
    return None


def _argument_error(words: str) -> str:
    return words[words.index("error: ") + len("error: ") :].strip()[:300]


def _no_metric(sweep: _Sweep, child: Child, event: ControllerEvent) -> Cause:
    logged = event.logged if isinstance(event, ChildEnded) and event.run == child.id else ()
    listed = f"it logged {', '.join(logged)}" if logged else "it logged no metric"
    return Cause(
        "no_primary_metric",
        f"trial {child.key} completed without logging {sweep.spec.primary.metric!r}: {listed}",
        f"log it in the script: run.log({sweep.spec.primary.metric!r}, value), or name another metric",
    )


def _all_failed(failed: list[Child]) -> Cause:
    first = failed[0]
    why = first.outcome.cause.message if first.outcome is not None and first.outcome.cause is not None else ""
    message = f"the first {len(failed)} trials failed: {why}"
    return Cause("trials_failed", message, f"see: footplate runs show {first.id}")


def _outcome(sweep: _Sweep) -> Outcome:
    failed = [child for child in sweep.children.values() if child.status == "Failed"]
    if failed and len(failed) == len(sweep.children):
        return Outcome("failed", _all_failed(failed))
    return Outcome("completed")
