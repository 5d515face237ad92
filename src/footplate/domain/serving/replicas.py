"""The controller `service`: a version of a web service as a group of runs, one for each replica.

The group begins with the number of replicas in its options, and the server changes the number while it runs. A replica
restarts by itself (its spec says so); one that has ended all the same, because somebody canceled it, is replaced. The
group ends when the server closes it.

    next       the number of the next replica, which is its key; numbers are not used twice
    leaving    keys of replicas that were told to stop
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Sequence

from footplate.domain.orders import Cause
from footplate.domain.records import Outcome
from footplate.domain.runs.controllers import (
    CancelChild,
    Child,
    ChildRefused,
    ControllerEvent,
    Group,
    GroupDecision,
    SubmitChild,
)
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.errors import InvalidInput

KIND = "service"
TEMPLATE = "replica"
"""The key under which the controller keeps the specification of a replica. Its command gets the key as last word."""


class ServiceController:
    def check(self, spec: ControllerSpec) -> None:
        template = spec.children.get(TEMPLATE)
        if template is None or template.program is None or template.program.command is None:
            raise InvalidInput(f"the service has no command for a {TEMPLATE}", "deploy it with Model.deploy")
        if not isinstance(spec.options.get("replicas"), int):
            raise InvalidInput(f"replicas is {spec.options.get('replicas')!r}", "give a whole number")

    def decide(self, group: Group, children: Sequence[Child], event: ControllerEvent, now: float) -> GroupDecision:
        state: Dict[str, Any] = {"next": 0, "leaving": [], **group.state}
        if group.outcome is not None:
            return GroupDecision(state)
        if isinstance(event, ChildRefused):
            cause = Cause("child_refused", f"a replica was refused: {event.cause.message}", event.cause.hint)
            return GroupDecision(state, end=Outcome("failed", cause))
        if group.closed:
            return GroupDecision(state, end=Outcome("completed"))
        replicas = group.controller.options["replicas"] if group.replicas is None else group.replicas
        return _decide(replicas, state, children, group.controller.children[TEMPLATE])


def _decide(replicas: int, state: Dict[str, Any], children: Sequence[Child], template: RunSpec) -> GroupDecision:
    submitted_keys = {child.key for child in children}
    leaving: List[str] = [key for key in state["leaving"] if any(c.key == key and not c.has_ended for c in children)]
    staying = [child.key for child in children if not child.has_ended and child.key not in leaving]
    waiting = [str(number) for number in range(state["next"]) if str(number) not in submitted_keys]
    missing = replicas - len(staying) - len(waiting)
    fresh = [str(state["next"] + number) for number in range(max(0, missing))]
    surplus = sorted(staying, key=int, reverse=True)[: max(0, -missing)]
    after = {**state, "next": state["next"] + len(fresh), "leaving": [*leaving, *surplus]}
    submit = tuple(SubmitChild(key, replica_spec(template, key)) for key in [*waiting, *fresh])
    cancel = tuple(CancelChild(key, "fewer replicas are needed") for key in surplus)
    return GroupDecision(after, submit, cancel)


def replica_spec(template: RunSpec, key: str) -> RunSpec:
    """Return the spec of one replica: the template with the replica's key behind its command."""
    assert template.program is not None
    program = replace(template.program, command=f"{template.program.command} {key}")
    return replace(template, program=program, display_name=f"replica {key}")
