"""The controller `completes_with_children`: submit the children that the spec names, and end when all have ended.

The group fails when a child failed or was refused, is canceled when all its children were canceled, and completes
otherwise. With the option `open`, clients may add children until they close the group. A restart of the group restarts
the children that failed or were canceled.
"""

from __future__ import annotations

from typing import List, Optional, Sequence

from footplate.domain.orders import Cause
from footplate.domain.records import Outcome
from footplate.domain.runs.controllers import (
    Child,
    ChildRefused,
    ControllerEvent,
    Group,
    GroupDecision,
    RestartChild,
    SubmitChild,
)
from footplate.domain.specs import ControllerSpec
from footplate.errors import InvalidInput

_OPTIONS = ("open",)


class CompletesWithChildren:
    def check(self, spec: ControllerSpec) -> None:
        for name in spec.options:
            if name not in _OPTIONS:
                raise InvalidInput(f"controller option {name!r} is unknown", f"the options are {', '.join(_OPTIONS)}")
        if not spec.children and not spec.options.get("open"):
            raise InvalidInput("the group has no children", "name some, or leave the group open to add them later")

    def decide(self, group: Group, children: Sequence[Child], event: ControllerEvent, now: float) -> GroupDecision:
        present = {child.key for child in children}
        submit = tuple(SubmitChild(key, spec) for key, spec in group.controller.children.items() if key not in present)
        if isinstance(event, ChildRefused):
            cause = Cause("child_refused", f"child {event.key!r} was refused: {event.cause.message}", event.cause.hint)
            return GroupDecision(group.state, end=Outcome("failed", cause))
        restart = _restarts(group, children)
        state = {"attempt": group.attempt}
        if submit or restart or not all(child.has_ended for child in children):
            return GroupDecision(state, submit, restart=restart)
        if group.controller.options.get("open") and not group.closed:
            return GroupDecision(state)
        return GroupDecision(state, end=_outcome(children))


def _restarts(group: Group, children: Sequence[Child]) -> tuple[RestartChild, ...]:
    if group.attempt == group.state.get("attempt", 1):
        return ()
    unsuccessful = [child for child in children if child.has_ended and child.status != "Completed"]
    return tuple(RestartChild(child.key, child.attempt + 1) for child in unsuccessful)


def _outcome(children: Sequence[Child]) -> Outcome:
    failed = [child for child in children if child.status == "Failed"]
    if failed:
        return Outcome("failed", _failure(failed, len(children)))
    if children and all(child.status == "Canceled" for child in children):
        return Outcome("canceled", Cause("canceled", "all its children were canceled"))
    return Outcome("completed")


def _failure(failed: List[Child], total: int) -> Cause:
    first = failed[0]
    cause: Optional[Cause] = first.outcome.cause if first.outcome is not None else None
    why = f": {cause.message}" if cause is not None else ""
    message = f"{len(failed)} of {total} children failed, first {first.id}{why}"
    return Cause("child_failed", message, f"see: footplate runs show {first.id}")
