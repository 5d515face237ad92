"""Groups: consult their controllers and carry out what these decide about the children.

The work of one group is done in order, one step at a time, in the effects' pool: a slow controller delays only its own
group. The orders of a decision are performed before the controller is consulted again, so a restarted server only has
to repeat the orders of the last decision (`group_transitions.resume`).
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from footplate.domain.codec import to_json
from footplate.domain.orders import Cause
from footplate.domain.records import RunRecord, RunView, Stage
from footplate.domain.runs import controllers, events
from footplate.domain.runs.group_transitions import group_state
from footplate.domain.runs.run_kinds import kind_of
from footplate.domain.specs import ControllerSpec, Distribution, EnvironmentSpec, GpuRequest, RunSpec
from footplate.errors import Conflict, FootplateError, InvalidInput, NotFound, OutOfSpace, Unavailable
from footplate.services.orchestration import controller_table
from footplate.services.orchestration.effects import Tell
from footplate.services.orchestration.group_memory import GroupMemory, KnownGroup
from footplate.storage import Storage

log = logging.getLogger(__name__)

Step = Callable[[], None]


_LockBasis = tuple[EnvironmentSpec, str, dict[str, Any], GpuRequest, Distribution]
"""Everything that decides about the lock of a child: its environment, and the node that it gets."""


class Submit(Protocol):
    """`RunService.submit`."""

    def __call__(
        self,
        workspace: str,
        run: str,
        spec: RunSpec,
        created_by: str,
        *,
        person: str | None = None,
        lock: str | None = None,
    ) -> None: ...


class Cancel(Protocol):
    """`RunService.cancel`."""

    def __call__(self, run: str, by: str = "", reason: str = "") -> RunView: ...


class Prepare(Protocol):
    """`StepPreparer.prepare`: complete the spec of a child right before it is submitted; the text goes to the log."""

    def __call__(self, group: RunRecord, key: str, spec: RunSpec) -> tuple[RunSpec, str]: ...


class Groups:
    """The children of all groups. `doubt(run)` has the effects of a run repeated when the store is back.

    `clock` returns the time for controllers (`ServerClock`).
    """

    def __init__(
        self,
        store: Storage,
        tell: Tell,
        in_pool: Callable[[Step], None],
        doubt: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._tell = tell
        self._in_pool = in_pool
        self._doubt = doubt
        self._clock = clock
        self._submit: Submit | None = None
        self._cancel: Cancel | None = None
        self._preparers: Mapping[str, Prepare] = {}
        self._guard = threading.Lock()
        self._steps: defaultdict[str, deque[Step]] = defaultdict(deque)
        self._busy: set[str] = set()
        self._active: set[str] = set()
        self._memory = GroupMemory(store)
        self._locks: dict[str, tuple[_LockBasis, str]] = {}  # of a child that has ended, by group
        self._metric_counts: dict[str, tuple[str, ControllerSpec, int]] = {}  # by child: group, spec, intervals passed

    def connect(self, submit: Submit, cancel: Cancel, preparers: Mapping[str, Prepare]) -> None:
        """Set the verbs of runs, which exist only after the orchestrator. `preparers`: by kind of controller."""
        self._submit, self._cancel, self._preparers = submit, cancel, preparers

    def note(self, record: RunRecord) -> None:
        """Take notice of a run that changed."""
        if record.spec.parent is not None:
            self._memory.mark_changed(record.spec.parent, record.id)
        if kind_of(record.spec).ended_by == "controller":
            (self._active.discard if record.stage is Stage.ENDED else self._active.add)(record.id)
            if record.stage is Stage.ENDED:
                self._memory.forget(record.id)
                self._locks.pop(record.id, None)

    # ── Effects: each only queues a step ──────────────────────────────────────────────────────────────────────────────

    def consult(self, record: RunRecord, effect: events.ConsultController) -> None:
        self._queue(record.id, lambda: self._consult(record.id, effect.event))

    def order_children(self, record: RunRecord, _: events.OrderChildren) -> None:
        self._queue(record.id, lambda: self._order_children(record.id), first=True)

    def end_children(self, record: RunRecord, _: events.EndChildren) -> None:
        self._queue(record.id, lambda: self._end_children(record.id))

    def notify_parent(self, record: RunRecord, _: events.NotifyParent) -> None:
        self._metric_counts.pop(record.id, None)
        parent = record.spec.parent
        if parent is not None and parent in self._active:
            if record.lock is not None:
                self._locks.setdefault(parent, (_lock_basis(record.spec), record.lock))
            self._queue(parent, lambda: self._consult_about_end(parent, record.id))

    def metrics_arrived(self, run: str) -> None:
        """Consult the controller of the run's group if the run has logged the metric often enough. Cheap otherwise."""
        watched = self._metric_counts.get(run)
        if watched is not None:
            self._queue(watched[0], lambda: self._check_metric(run))

    # ── One step at a time ────────────────────────────────────────────────────────────────────────────────────────────

    def _queue(self, group: str, step: Step, first: bool = False) -> None:
        """Queue a step. Orders come `first`: a later decision would replace those of a decision not yet carried out."""
        with self._guard:
            (self._steps[group].appendleft if first else self._steps[group].append)(step)
            if group in self._busy:
                return
            self._busy.add(group)
        self._in_pool(lambda: self._work(group))

    def _work(self, group: str) -> None:
        while True:
            with self._guard:
                if not self._steps[group]:
                    del self._steps[group]
                    self._busy.discard(group)
                    return
                step = self._steps[group].popleft()
            self._take(group, step)

    def _take(self, group: str, step: Step) -> None:
        try:
            step()
            return
        except (Unavailable, OutOfSpace) as error:
            log.warning("group %s has to wait: %s", group, error.message)
            self._doubt(group)
        except (Conflict, NotFound) as error:
            log.info("group %s ended meanwhile: %s", group, error.message)
        except Exception as error:
            log.exception("the controller of group %s failed", group)
            message = f"the controller failed: {type(error).__name__}: {error}"
            cause = Cause("internal", message, "see: footplate server logs")
            if isinstance(error, InvalidInput):  # a part of the user's own, such as a sampler
                cause = Cause("invalid_input", error.message, error.hint)
            with contextlib.suppress(FootplateError):
                self._tell(group, events.RunFailed(cause))
        self._memory.forget(group)  # the step may have been half done: read everything again

    # ── The steps ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _consult(self, run: str, event: controllers.ControllerEvent) -> None:
        record = self._store.runs.record(run)
        spec = record.spec.controller
        if record.stage is Stage.ENDED or spec is None:
            return
        state = group_state(record)
        members = self._update(run, spec)
        group = controllers.Group(
            run, spec, state.decision.state, record.attempt, state.closed, record.outcome, members.notes, state.replicas
        )
        children = list(members.children.values())
        decision = controller_table.load(spec.kind, self._store.home).decide(group, children, event, self._clock())
        self._log(run, spec.kind, decision.log)  # first: whoever hears of the decision, or of the end, finds its lines
        self._tell(run, events.GroupDecided(decision))
        members.notes.extend(to_json(decision.notes))
        if record.outcome is not None:
            self._end_children(run)

    def _update(self, run: str, spec: ControllerSpec) -> KnownGroup:
        """Return the group as it is now, and begin to watch the metric of children that are new."""
        members, read = self._memory.update(run, spec)
        if spec.metrics and spec.interval:
            for child in read:
                if not child.has_ended and child.id not in self._metric_counts:
                    self._metric_counts[child.id] = (run, spec, len(child.series) // spec.interval)
        return members

    def _log(self, run: str, kind: str, lines: Sequence[str]) -> None:
        if lines:
            name = controller_table.LOGS.get(kind, controller_table.OTHER_LOG)
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            text = "".join(f"{now} {line}\n" for line in lines)
            self._store.logs.append(run, name, self._store.logs.size(run, name), text.encode())

    def _consult_about_end(self, group: str, run: str) -> None:
        summary = self._store.metrics.summary(run)  # also brings the summaries of the database up to date
        self._memory.mark_changed(group, run)
        self._consult(group, controllers.ChildEnded(run, tuple(row["name"] for row in summary if not row["system"])))

    def _check_metric(self, run: str) -> None:
        watched = self._metric_counts.get(run)
        if watched is None:
            return
        group, spec, passed = watched
        values = self._memory.series(run, spec.metrics[0])
        if len(values) // spec.interval > passed:
            self._metric_counts[run] = (group, spec, len(values) // spec.interval)
            self._memory.mark_changed(group, run)
            self._consult(group, controllers.ChildMetricReported(run, values))

    def _order_children(self, run: str) -> None:
        record = self._store.runs.record(run)
        spec = record.spec.controller
        if record.stage is Stage.ENDED or record.outcome is not None or spec is None:
            return
        assert self._cancel is not None
        decision = group_state(record).decision
        children = self._update(run, spec).children if decision.cancel or decision.restart else {}
        for order in decision.cancel:
            self._cancel(_id_of(run, order.key, children), "its group", order.reason)
        for order in decision.restart:
            with contextlib.suppress(Conflict):  # somebody restarted it meanwhile
                self._tell(_id_of(run, order.key, children), events.RunRestarted(order.attempt, "its group"))
        if decision.submit and self._submit_children(record, decision.submit) and spec.interval:
            self._update(run, spec)  # begins to watch the metric of the new children

    def _submit_children(self, record: RunRecord, orders: Sequence[controllers.SubmitChild]) -> bool:
        """Submit children; at the first that the server refuses, consult the controller and return False."""
        assert self._submit is not None
        run = record.id
        creator = self._store.runs.creator(run)
        for order in orders:
            child = controllers.child_id(run, order.key)
            spec = replace(order.spec, parent=run)
            try:
                spec = self._prepare(record, order.key, spec)
                # Later children get the packages of the first that ended, whatever the indexes offer by now.
                basis, lock = self._locks.get(run, (None, None))
                inherited = lock if _lock_basis(spec) == basis else None
                self._submit(record.workspace, child, spec, creator.created_by, person=creator.person, lock=inherited)
            except (Unavailable, OutOfSpace):
                raise
            except FootplateError as error:
                cause = Cause("child_refused", error.message, error.hint)
                self._consult(run, controllers.ChildRefused(order.key, cause))
                return False
        return True

    def _prepare(self, record: RunRecord, key: str, spec: RunSpec) -> RunSpec:
        """Return the spec completed by the group's preparer; a child that exists keeps the spec that it has."""
        assert record.spec.controller is not None
        kind = record.spec.controller.kind
        prepare = self._preparers.get(kind)
        if prepare is None:
            return spec
        with contextlib.suppress(NotFound):
            return self._store.runs.record(controllers.child_id(record.id, key)).spec
        spec, line = prepare(record, key, spec)
        self._log(record.id, kind, [line])
        return spec

    def _end_children(self, run: str) -> None:
        record = self._store.runs.record(run)
        spec = record.spec.controller
        if record.stage is Stage.ENDED or record.outcome is None or spec is None:
            return
        assert self._cancel is not None
        reasons = {order.key: order.reason for order in group_state(record).decision.cancel}
        for child in list(self._update(run, spec).children.values()):
            if not child.has_ended:
                reason = reasons.get(child.key, f"its group {run} ends as {record.outcome.kind}")
                self._cancel(child.id, "its group", reason)
        if all(child.has_ended for child in self._update(run, spec).children.values()):
            self._tell(run, events.ChildrenFinished())


def _id_of(group: str, key: str, children: Mapping[str, controllers.Child]) -> str:
    """Return the run of a child; a child that a client added has its run id as key."""
    run = controllers.child_id(group, key)
    return run if run in children else key


def _lock_basis(spec: RunSpec) -> _LockBasis:
    return spec.environment, spec.target, spec.engine_options, spec.gpus, spec.distribution
