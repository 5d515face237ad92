"""The controller of a pipeline: start each step when those that it needs have completed, and end when no more can.

A step is the child under its key. Everything follows from the children, so the state only remembers which steps the
server refused. A failed step ends the pipeline, and running steps are canceled, unless `continue_on_failure` lets the
branches go on that do not need it. A resumed pipeline restarts the steps that failed or were canceled, and goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Sequence

from footplate.domain.orders import Cause
from footplate.domain.pipelines.graph import PipelineSpec, check_pipeline, execution_order, pipeline_of
from footplate.domain.records import Outcome
from footplate.domain.runs.controllers import (
    Child,
    ChildEnded,
    ChildRefused,
    ControllerEvent,
    Group,
    GroupDecision,
    RestartChild,
    SubmitChild,
    child_key,
)
from footplate.domain.specs import ControllerSpec
from footplate.errors import InvalidInput

_COMPLETED = "Completed"


class PipelineController:
    """The controller `pipeline`. Graphs are decoded once, and kept while their groups are active."""

    def __init__(self) -> None:
        self._graphs: Dict[str, PipelineSpec] = {}

    def check(self, spec: ControllerSpec) -> None:
        check_pipeline(pipeline_of(spec), spec.children)

    def decide(self, group: Group, children: Sequence[Child], event: ControllerEvent, now: float) -> GroupDecision:
        pipeline = self._graphs.get(group.id) or pipeline_of(group.controller)
        self._graphs[group.id] = pipeline
        decision = _decide(group, pipeline, children, event)
        if decision.end is not None or group.outcome is not None:
            self._graphs.pop(group.id, None)
        return decision


class ReusedStep:
    """The controller of a step whose result an earlier run has: it ends at once."""

    def check(self, spec: ControllerSpec) -> None:
        if spec.children or spec.options:
            raise InvalidInput("a reused step has no children and no options", "leave them out")

    def decide(self, group: Group, children: Sequence[Child], event: ControllerEvent, now: float) -> GroupDecision:
        return GroupDecision(group.state, end=group.outcome or Outcome("completed"))


@dataclass
class _Progress:
    """A pipeline in the midst of a decision. `refused`: message and hint by step."""

    pipeline: PipelineSpec
    steps: Dict[str, Child]
    refused: Dict[str, Any]
    log: List[str] = field(default_factory=lambda: [])

    def name(self, key: str) -> str:
        return self.pipeline.steps[key].name

    @property
    def unsuccessful(self) -> List[Child]:
        """The steps that failed or were canceled."""
        return [child for child in self.steps.values() if child.has_ended and child.status != _COMPLETED]

    def find_ready(self) -> List[str]:
        """Return the steps that can start now, in the order of the pipeline."""
        done = {key for key, child in self.steps.items() if child.status == _COMPLETED}
        waiting = [key for key in self.pipeline.steps if key not in self.steps and key not in self.refused]
        return [key for key in waiting if self.pipeline.steps[key].needs <= done]


def _decide(group: Group, pipeline: PipelineSpec, children: Sequence[Child], event: ControllerEvent) -> GroupDecision:
    is_resumed = group.state.get("attempt", 1) != group.attempt
    refused: Dict[str, Any] = {} if is_resumed else dict(group.state.get("refused", {}))
    if isinstance(event, ChildRefused):
        refused[event.key] = [event.cause.message, event.cause.hint]
    state = {"attempt": group.attempt, "refused": refused}
    progress = _Progress(pipeline, {child.key: child for child in children if child.key in pipeline.steps}, refused)
    if is_resumed and progress.unsuccessful:
        restart = tuple(RestartChild(child.key, child.attempt + 1) for child in progress.unsuccessful)
        return GroupDecision(
            state, restart=restart, log=tuple(f"step {progress.name(r.key)} runs again" for r in restart)
        )
    if isinstance(event, ChildEnded):
        _tell_end(progress, child_key(group.id, event.run))
    has_failed = bool(refused or progress.unsuccessful)
    ready = [] if has_failed and not pipeline.continue_on_failure else progress.find_ready()
    is_over = all(child.has_ended for child in progress.steps.values())
    if not ready and (is_over or (has_failed and not pipeline.continue_on_failure)):
        return _end(progress, state)
    submit = tuple(SubmitChild(key, group.controller.children[key]) for key in ready)
    return GroupDecision(state, submit, log=tuple(progress.log))


def _tell_end(progress: _Progress, key: str) -> None:
    child = progress.steps.get(key)
    if child is not None and child.has_ended:
        cause = None if child.outcome is None else child.outcome.cause
        why = "" if cause is None or child.status == _COMPLETED else f": {cause.message}"
        progress.log.append(f"step {progress.name(key)} ended as {child.status}{why}")


def _end(progress: _Progress, state: Dict[str, Any]) -> GroupDecision:
    outcome = _outcome(progress)
    begun = {*progress.steps, *progress.refused}
    not_started = [progress.name(key) for key in execution_order(progress.pipeline) if key not in begun]
    if not_started:
        progress.log.append(f"not started: {', '.join(not_started)}")
    progress.log.append(f"the pipeline ends as {outcome.kind}")
    return GroupDecision(state, end=outcome, log=tuple(progress.log))


def _outcome(progress: _Progress) -> Outcome:
    for key, (message, hint) in progress.refused.items():
        return Outcome("failed", Cause("child_refused", f"step {progress.name(key)!r}: {message}", hint))
    failed = [child for child in progress.unsuccessful if child.status == "Failed"]
    if failed:
        child = min(failed, key=lambda child: child.ended or 0.0)
        cause = None if child.outcome is None else child.outcome.cause
        why = f": {cause.message}" if cause is not None else ""
        hint = f"see: footplate runs show {child.id}; go on from this step with: footplate runs restart"
        return Outcome("failed", Cause("child_failed", f"step {progress.name(child.key)!r} failed{why}", hint))
    if progress.unsuccessful:
        name = progress.name(progress.unsuccessful[0].key)
        return Outcome("canceled", Cause("canceled", f"step {name!r} was canceled"))
    return Outcome("completed")
