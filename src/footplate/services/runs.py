"""Runs: submit, list, change and end them."""

from __future__ import annotations

import builtins
import time
from dataclasses import replace

from footplate import environments
from footplate.domain.codec import to_json
from footplate.domain.orders import Cause
from footplate.domain.records import RunRecord, RunView, Stage, StoryLine
from footplate.domain.replies import DeletedRuns, FieldName, FieldValue, RunCount, RunGroup
from footplate.domain.runs import events, run_status
from footplate.domain.runs.run_kinds import kind_of
from footplate.domain.specs import EnvironmentSpec, RunSpec, check_run_id, check_spec
from footplate.environments.url_credentials import extract_run_logins
from footplate.errors import Conflict, InvalidInput, NotFound
from footplate.services.computes import ComputeService
from footplate.services.datasets import DatasetService
from footplate.services.disk_space import DiskSpace
from footplate.services.notifications import Notifications
from footplate.services.orchestration import controller_table
from footplate.services.orchestration.orchestrator import Orchestrator
from footplate.services.orchestration.scheduler import with_waiting
from footplate.services.run_limits import RunLimits
from footplate.services.topics import Publish, RunChanged
from footplate.storage import RunQuery, Storage


class RunService:
    def __init__(
        self,
        store: Storage,
        orchestrator: Orchestrator,
        computes: ComputeService,
        datasets: DatasetService,
        limits: RunLimits,
        notifications: Notifications,
        publish: Publish,
    ) -> None:
        self._store = store
        self._orchestrator = orchestrator
        self._computes = computes
        self._datasets = datasets
        self._limits = limits
        self._notifications = notifications
        self._publish = publish
        self._disk = DiskSpace(store.home)

    # ── Submit ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def submit(
        self, workspace: str, run: str, spec: RunSpec, created_by: str, submitter: str | None = None,
        lock: str | None = None, person: str | None = None, created: float | None = None,
    ) -> None:  # fmt: skip
        """Check everything that can be checked now, then insert once. The same request again changes nothing.

        `submitter` is the run that submits it, if any. `lock` is what the environment of the spec has been resolved to;
        a run whose lock is known need not wait for that. `person` owns the run; None is the owner of the server.
        `created` is the time at which its client created it.
        """
        check_run_id(run)
        spec, logins = extract_run_logins(spec)
        if self._is_known(run, workspace, spec):
            return
        self._check(workspace, spec)
        if submitter is not None:
            self._limits.check_submission(submitter, spec, logins)
        self._store.logins.put(logins.by_address)
        warnings = self._warnings(workspace, spec)
        created = time.time() if created is None else created
        record = RunRecord(run, workspace, spec, Stage.ACCEPTED, created=created, warnings=warnings)
        first: list[events.Event] = [events.RunSubmitted(created_by)]
        if kind_of(spec).has_nodes and (lock := spec.lock or lock):
            first.append(events.EnvironmentLocked(lock, self._store.locks.get(lock).warnings))
        try:
            self._orchestrator.begin(record, created_by, first, person)
        except Conflict:  # the same request twice at the same time
            if not self._is_known(run, workspace, spec):
                raise
        self._publish(RunChanged(run))

    def _is_known(self, run: str, workspace: str, spec: RunSpec) -> bool:
        try:
            stored = self._store.runs.record(run)
        except NotFound:
            return False
        if stored.workspace == workspace and to_json(stored.spec) == to_json(spec):
            return True
        raise Conflict(f"there is a run {run!r} already, and it is another one", "choose another run id")

    def _check(self, workspace: str, spec: RunSpec) -> None:
        check_spec(spec)
        if spec.notify:
            self._notifications.check_configured()
        self._store.workspaces.get(workspace)
        if spec.snapshot is not None and not self._store.blobs.has(spec.snapshot):
            raise InvalidInput(f"snapshot {spec.snapshot} is not in the store", "send its files first, then the run")
        if spec.parent is not None:
            _check_parent(self._store.runs.record(spec.parent), workspace, spec)
        if spec.outputs_from is not None and self._store.runs.view(spec.outputs_from).workspace != workspace:
            raise InvalidInput(f"run {spec.outputs_from!r} is in another workspace", "name a run of this one")
        self._datasets.check_run(workspace, spec)
        if kind_of(spec).has_nodes:
            _check_builder(spec.environment)
            self._check_lock(spec.lock)
        if spec.controller is not None:
            controller_table.load(spec.controller.kind, self._store.home).check(spec.controller)
            for child in spec.controller.children.values():
                self._check(workspace, child)
                self._warnings(workspace, child)

    def _warnings(self, workspace: str, spec: RunSpec) -> tuple[str, ...]:
        """Return warnings about what the target cannot provide; raise InvalidInput if settings forbid it."""
        if not kind_of(spec).has_nodes:
            return ()
        target = self._computes.definition(workspace, spec.target)
        node_count = spec.distribution.node_count
        if node_count > target.max_nodes:
            raise InvalidInput(
                f"the run asks for {node_count} nodes and {spec.target!r} has at most {target.max_nodes}",
                f"lower node_count, or raise max_nodes of {spec.target!r}",
            )
        self._computes.check_run(target, spec.engine_options)
        return tuple(self._computes.fit(target))

    def _check_lock(self, digest: str | None) -> None:
        if digest is None:
            return
        try:
            self._store.locks.get(digest)
        except NotFound:
            raise InvalidInput(
                f"there is no environment lock {digest[:12]} to run with", "see the lock of a run: footplate env show"
            ) from None

    # ── Look ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def view(self, run: str) -> RunView:
        return self._disk.with_warning(with_waiting(self._store.runs.view(run), self._orchestrator.waiting(run)))

    def list(self, query: RunQuery) -> tuple[list[RunView], str | None]:
        views, cursor = self._store.runs.list(query)
        return [with_waiting(v, self._orchestrator.waiting(v.id)) for v in views], cursor

    def count(self, query: RunQuery, up_to: int) -> RunCount:
        return self._store.runs.count(query, up_to)

    def field_names(
        self, workspace: str, kind: str, experiment: str | None, prefix: str, limit: int
    ) -> builtins.list[FieldName]:
        self._store.workspaces.get(workspace)
        return self._store.run_fields.names(workspace, kind, experiment, prefix, limit)

    def field_values(
        self, workspace: str, field: str, experiment: str | None, prefix: str, limit: int
    ) -> builtins.list[FieldValue]:
        self._store.workspaces.get(workspace)
        return self._store.run_fields.values(workspace, field, experiment, prefix, limit)

    def groups(self, query: RunQuery, by: str, limit: int) -> builtins.list[RunGroup]:
        return self._store.run_fields.groups(query, by, limit)

    def story(self, run: str) -> list[StoryLine]:
        record = self._store.runs.record(run)
        return self._disk.with_line(run_status.status(record), self._store.runs.story(run))

    # ── Change ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def change(
        self,
        run: str,
        display_name: str | None = None,
        description: str | None = None,
        tags: dict[str, str | None] | None = None,
        remove_tags: tuple[str, ...] = (),
        properties: dict[str, str] | None = None,
        parameters: dict[str, str] | None = None,
        archived: bool | None = None,
    ) -> RunView:
        self._store.runs.change(
            run,
            display_name=display_name,
            description=description,
            tags=tags,
            remove_tags=remove_tags,
            properties=properties,
            parameters=parameters,
            archived=None if archived is None else time.time() if archived else 0.0,
        )
        self._publish(RunChanged(run))
        return self.view(run)

    def set_snapshot(self, run: str, snapshot: str) -> RunView:
        if not self._store.blobs.has(snapshot):
            raise InvalidInput(f"snapshot {snapshot} is not in the store", "send its files first")
        self._store.runs.set_snapshot(run, snapshot)
        return self.view(run)

    def warn(self, run: str, message: str) -> RunView:
        self._orchestrator.tell(run, events.WarningAdded(message))
        return self.view(run)

    def heartbeat(self, run: str) -> bool:
        """Take a heartbeat of the client of an interactive run; return whether the run has ended."""
        self._orchestrator.client_lives(run)
        return self._store.runs.record(run).stage is Stage.ENDED

    def delete(self, run: str, force: bool = False) -> DeletedRuns:
        """Delete a run that has ended, and its descendants. `force`: even if models were made by them."""
        deleted = self._store.deletion.delete(run, force)
        for each in deleted:
            self._publish(RunChanged(each))
        return DeletedRuns(tuple(deleted))

    # ── End ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def cancel(self, run: str, by: str = "", reason: str = "") -> RunView:
        self._orchestrator.tell(run, events.RunCancelRequested(by, reason))
        for child in self._store.runs.children(run):
            if child.stage is not Stage.ENDED:
                self.cancel(child.id, by, f"its parent {run} was canceled")
        return self.view(run)

    def restart(self, run: str, attempt: int, by: str = "", reason: str = "") -> RunView:
        """Restart a run that failed or was canceled; `attempt` is the number of the new attempt."""
        self._orchestrator.tell(run, events.RunRestarted(attempt, by, reason))
        return self.view(run)

    def report_status(self, run: str, status: str | None, ended: float | None = None) -> None:
        """Set the status of an interactive run as its client reports it. One with nodes or a controller keeps its own.

        `status` is Running, Completed, Failed or Canceled; None changes the time of the end only.
        """
        if "StatusReported" in kind_of(self._store.runs.record(run).spec).admits:
            self._orchestrator.tell(run, events.StatusReported(status, ended))

    def complete(self, run: str) -> RunView:
        self._orchestrator.tell(run, events.RunCompleted())
        return self.view(run)

    def fail(self, run: str, cause: Cause) -> RunView:
        message = cause.message or "marked as failed by its user"
        self._orchestrator.tell(run, events.RunFailed(replace(cause, message=message)))
        return self.view(run)


def _check_parent(parent: RunRecord, workspace: str, spec: RunSpec) -> None:
    if parent.workspace != workspace:
        raise InvalidInput(f"parent run {parent.id!r} is in another workspace", "use a run of this workspace")
    kind = kind_of(parent.spec)
    if kind.ended_by == "controller" and parent.outcome is not None:
        raise Conflict(
            f"group {parent.id!r} is {run_status.status(parent)} and takes no more children", "start a new group"
        )
    allowed = kind.children
    if spec.kind not in allowed:
        raise InvalidInput(
            f"a run of the kind {spec.kind!r} cannot be a child of {parent.id!r}, which is of the kind {kind.name!r}",
            f"its children can be of the kinds {', '.join(sorted(allowed))}",
        )


def _check_builder(environment: EnvironmentSpec) -> None:
    if environment.builder not in environments.names():
        raise InvalidInput(
            f"this server cannot make the environment {environment.name!r}: it has no builder "
            f"{environment.builder!r}, only {', '.join(environments.names())}",
            "is the server older than the client? see: footplate server status",
        )
