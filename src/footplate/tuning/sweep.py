"""The controller of a sweep: which trials are submitted, which are stopped or paused, and when the sweep ends.

The notes (`sweep_notes`) hold the parameters of every trial and the calls of the sampler in order. A sampler is
deterministic given its seed and those calls, so a server that was killed replays them and continues exactly where the
last one stopped. The state is small: when this attempt began, which trials a resumed sweep has still to run again, and
whether the sampler has nothing more to draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from footplate.domain.orders import Cause
from footplate.domain.records import Outcome
from footplate.domain.runs.controllers import (
    CancelChild,
    Child,
    ChildMetricReported,
    ChildRefused,
    ControllerEvent,
    Group,
    GroupDecision,
    RestartChild,
    SubmitChild,
    child_id,
    child_key,
)
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.domain.tuning import search_space
from footplate.domain.tuning.early_stopping import History, pauses, reason_to_stop
from footplate.domain.tuning.sweeps import HYPERPARAMETERS, TEMPLATE, SweepSpec, best_values, check_sweep, sweep_of
from footplate.errors import InvalidInput
from footplate.tuning import promotion, sweep_end
from footplate.tuning.samplers import ParameterSampler, SamplerContext, make_sampler, replay
from footplate.tuning.sweep_notes import SweepNotes, result_of


@dataclass
class Memory:
    """One sweep between decisions. It follows from the notes and the children, and is made again when it is lost."""

    notes: SweepNotes
    sampler: ParameterSampler
    history: History
    waiting: set[int] = field(default_factory=set[int])  # trials that were drawn and are not children yet


@dataclass
class Sweep:
    """One sweep in the midst of a decision."""

    id: str
    spec: SweepSpec
    template: RunSpec
    memory: Memory
    children: dict[str, Child]
    added: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    cancel: list[CancelChild] = field(default_factory=list[CancelChild])
    restart: list[RestartChild] = field(default_factory=list[RestartChild])
    log: list[str] = field(default_factory=list[str])

    @property
    def trials(self) -> SweepNotes:
        return self.memory.notes

    @property
    def running(self) -> list[Child]:
        return [child for child in self.children.values() if not child.has_ended]

    @property
    def room(self) -> int:
        """The number of trials that may start now."""
        most = self.spec.max_concurrent or self.spec.max_trials
        return most - len(self.running) - len(self.memory.waiting) - len(self.restart)

    def counts(self, child: Child) -> bool:
        """Whether a child is a trial of this sweep, in the attempt that was ordered last."""
        return child.key.isdigit() and child.attempt >= self.trials.trials[int(child.key)].attempt

    def note(self, line: str, **note: Any) -> None:
        """Take a note, act on it from now on, and say it in the log."""
        self.added.append(note)
        self.memory.notes.add(note)
        self.log.append(line)

    def add_trial(self, line: str, **note: Any) -> None:
        self.memory.waiting.add(len(self.trials.trials))
        self.note(line, **note)


class SweepController:
    """The controller `sweep`. Memories are kept between decisions. `listed` returns the owner's own samplers."""

    def __init__(self, listed: Callable[[], Mapping[str, str]] = dict) -> None:
        self._listed = listed
        self._memories: dict[str, Memory] = {}

    def check(self, spec: ControllerSpec) -> None:
        sweep = sweep_of(spec)
        check_sweep(sweep)
        if TEMPLATE not in spec.children:
            raise InvalidInput("the sweep has no trials to run", f"give the specification of a trial as {TEMPLATE!r}")
        make_sampler(sweep.sampler, _context(sweep), self._listed())  # refuses an unknown sampler and its options now

    def decide(self, group: Group, children: Sequence[Child], event: ControllerEvent, now: float) -> GroupDecision:
        state = dict(group.state)
        is_resumed = state.get("attempt") != group.attempt
        if is_resumed:
            state.update(attempt=group.attempt, began=now)
        if group.outcome is not None:
            self._memories.pop(group.id, None)
            return GroupDecision(state)
        sweep = self._sweep(group, children)
        state["retry"] = _unfinished(sweep) if is_resumed else state.get("retry", [])
        try:
            decision = _decide(sweep, state, event, now)
        except BaseException:
            self._memories.pop(group.id, None)  # it may be ahead of the notes
            raise
        if decision.end is not None:
            self._memories.pop(group.id, None)
        return decision

    def _sweep(self, group: Group, children: Sequence[Child]) -> Sweep:
        spec = sweep_of(group.controller)
        by_key = {child.key: child for child in children}
        memory = self._memories.get(group.id)
        if memory is None or memory.notes.length != len(group.notes):
            notes = SweepNotes().add_all(group.notes)
            sampler = replay(make_sampler(spec.sampler, _context(spec), self._listed()), notes.calls)
            memory = Memory(notes, sampler, _history(spec, notes, by_key), set(range(len(notes.trials))))
            self._memories[group.id] = memory
        memory.waiting = {number for number in memory.waiting if str(number) not in by_key}
        return Sweep(group.id, spec, group.controller.children[TEMPLATE], memory, by_key)


def _history(spec: SweepSpec, notes: SweepNotes, children: dict[str, Child]) -> History:
    """Return the values that all trials have logged; a copy begins with the values of the trial that it continues."""
    history = History(spec.primary.goal)
    for number, trial in enumerate(notes.trials):
        if trial.source is not None:
            history.branch(str(number), str(trial.source), trial.source_interval)
        for value in children[str(number)].series if str(number) in children else ():
            history.add(str(number), value)
    return history


def _decide(sweep: Sweep, state: dict[str, Any], event: ControllerEvent, now: float) -> GroupDecision:
    _tell_ended(sweep)
    over = _reason_to_end(sweep, state, event, now)
    if over is not None:
        return _end(sweep, state, over)
    if isinstance(event, ChildMetricReported):
        _apply_policy(sweep, child_key(sweep.id, event.run), event.values)
    _retry(sweep, state)
    promotion.resume_paused(sweep)
    _ask(sweep, state)
    submit = tuple(SubmitChild(str(n), _spec_of(sweep, n)) for n in sorted(sweep.memory.waiting))
    if not submit and not sweep.restart and not sweep.running:
        return _end(sweep, state, sweep_end.outcome(sweep.children))
    return GroupDecision(
        state, submit, tuple(sweep.cancel), tuple(sweep.restart),
        wake_at=state["began"] + sweep.spec.max_seconds, notes=tuple(sweep.added), log=tuple(sweep.log),
    )  # fmt: skip


def _end(sweep: Sweep, state: dict[str, Any], outcome: Outcome) -> GroupDecision:
    why = "" if outcome.cause is None else f": {outcome.cause.message}"
    log = (*sweep.log, f"the sweep ends as {outcome.kind}{why}")
    return GroupDecision(state, end=outcome, notes=tuple(sweep.added), log=log)


def _reason_to_end(sweep: Sweep, state: dict[str, Any], event: ControllerEvent, now: float) -> Outcome | None:
    if now >= state["began"] + sweep.spec.max_seconds:
        return Outcome("completed", Cause("time_limit", f"the sweep reached its limit of {sweep.spec.max_seconds:g} s"))
    if isinstance(event, ChildRefused):
        cause = Cause("child_refused", f"trial {event.key} was refused: {event.cause.message}", event.cause.hint)
        return Outcome("failed", cause)
    trials = [trial.parameters for trial in sweep.trials.trials]
    judged = {key: child for key, child in sweep.children.items() if key not in state["retry"] and sweep.counts(child)}
    return sweep_end.hopeless(sweep.spec, trials, judged, event)


def _tell_ended(sweep: Sweep) -> None:
    """Tell the sampler how trials ended that it does not know of yet, each once. A pause counts as an end."""
    for key, child in sweep.children.items():
        if not child.has_ended or not sweep.counts(child) or sweep.trials.trials[int(key)].is_told:
            continue
        values, violations = best_values(sweep.spec, child.metrics)
        text = "no metric" if values is None else ", ".join(f"{value:.6g}" for value in values)
        note = {"tell": int(key), "values": values, "violations": violations}
        sweep.note(f"trial {key} ended as {child.status}: {text}", **note)
        draw = sweep.trials.trials[int(key)].draw
        if draw is not None:
            sweep.memory.sampler.tell(draw, result_of(note))


def _unfinished(sweep: Sweep) -> list[str]:
    """Return the trials that failed, or were canceled with the sweep and not by the policy."""
    keys: list[str] = []
    for number, trial in enumerate(sweep.trials.trials):
        child = sweep.children.get(str(number))
        if child is not None and child.status in ("Failed", "Canceled") and not trial.stopped and not trial.paused_at:
            keys.append(child.key)
    return keys


def _retry(sweep: Sweep, state: dict[str, Any]) -> None:
    """Run trials of a resumed sweep again while there is room; they go on from their outputs."""
    count = max(0, min(sweep.room, len(state["retry"])))
    for key in state["retry"][:count]:
        attempt = sweep.children[key].attempt + 1
        sweep.note(f"trial {key} runs again", retry=int(key), attempt=attempt)
        sweep.restart.append(RestartChild(key, attempt))
    state["retry"] = state["retry"][count:]


def _ask(sweep: Sweep, state: dict[str, Any]) -> None:
    """Draw trials while there is room."""
    most = promotion.most_draws(sweep.spec)
    while sweep.room > 0 and len(sweep.trials.draws) < most and len(sweep.trials.trials) < sweep.spec.max_trials:
        values = None if state.get("exhausted") else sweep.memory.sampler.ask()
        if values is None:
            state["exhausted"] = True
            break
        number = len(sweep.trials.trials)
        sweep.add_trial(f"trial {number} starts: {search_space.to_text(values)}", ask=values)


def _apply_policy(sweep: Sweep, key: str, values: Sequence[float]) -> None:
    """Apply the policy to the trial that has just logged the metric; several values may have come at once."""
    policy, history = sweep.spec.policy, sweep.memory.history
    child = sweep.children.get(key)
    if child is None or policy.kind == "none":
        return
    trial = sweep.trials.trials[int(key)]
    for value in values[history.length(key) - trial.source_interval :]:
        history.add(key, value)
        if child.has_ended or trial.stopped or trial.paused_at:
            continue
        reason = reason_to_stop(policy, key, history)
        if reason is not None:
            sweep.note(f"trial {key} is stopped: {reason}", stop=int(key), why=reason)
            sweep.cancel.append(CancelChild(key, f"stopped early by the {policy.kind} policy: {reason}"))
        elif pauses(policy, key, history):
            interval = history.length(key)
            sweep.note(f"trial {key} pauses at interval {interval}", pause=int(key), interval=interval)
            sweep.cancel.append(CancelChild(key, f"paused by the {policy.kind} policy at interval {interval}"))


def _spec_of(sweep: Sweep, number: int) -> RunSpec:
    trial = sweep.trials.trials[number]
    spec = trial_spec(sweep.template, trial.parameters)
    return spec if trial.source is None else replace(spec, outputs_from=child_id(sweep.id, str(trial.source)))


def trial_spec(template: RunSpec, values: dict[str, Any]) -> RunSpec:
    """Return the spec of one trial: the values come behind the template's own arguments, so that they win."""
    arguments = search_space.to_arguments(values)
    program, definition = template.program, template.definition
    if program is not None and program.script is not None:
        program = replace(program, arguments=(*program.arguments, *arguments))
        if definition:  # scripts read a trial's arguments in get_details()["runDefinition"]
            definition = {**definition, "arguments": [*definition.get("arguments", ()), *arguments]}
    elif program is not None and program.command is not None:
        program = replace(program, command=" ".join([program.command, *map(_quote, arguments)]))
        if definition:
            definition = {**definition, "command": program.command}
    properties = {**template.properties, HYPERPARAMETERS: search_space.to_text(values)}
    return replace(template, program=program, properties=properties, definition=definition)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _context(spec: SweepSpec) -> SamplerContext:
    goals = tuple(objective.goal for objective in spec.objectives)
    return SamplerContext(spec.space, goals, spec.seed, spec.sampler_options, len(spec.constraints), spec.past)
