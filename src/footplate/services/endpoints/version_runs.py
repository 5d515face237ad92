"""A version of a service as a group of runs: submit it, scale it, look at it, end it."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from footplate.domain.codec import from_json
from footplate.domain.orders import Cause, Program
from footplate.domain.records import RunRecord, Stage
from footplate.domain.runs import events
from footplate.domain.runs.controllers import Child
from footplate.domain.runs.run_kinds import GROUP
from footplate.domain.serving.endpoints import FAILED, EndpointRecord, VersionRecord, VersionSpec
from footplate.domain.serving.replicas import KIND, TEMPLATE
from footplate.domain.serving.routes import VersionRoute
from footplate.domain.specs import ControllerSpec, EnvironmentSpec, GpuRequest, RestartPolicy, RunSpec
from footplate.domain.targets import SERVICES
from footplate.errors import Conflict, NotFound
from footplate.services.endpoints.version_files import PACKED, VersionFiles
from footplate.services.models import ModelService
from footplate.services.orchestration.orchestrator import Orchestrator
from footplate.services.runs import RunService
from footplate.storage import Storage

EXPERIMENT = "web-services"
RUN_TYPE = "footplate.service"
RESTART = RestartPolicy("always", backoff_seconds=0.5, max_backoff_seconds=30.0)

_NO_GPU = (
    "no cuda gpus are available",
    "no cuda-capable device is detected",
    "found no nvidia driver",
    "torch.cuda.is_available() is false",
    "no nvidia gpu",
)
"""What libraries print, in lower case, when they want a GPU and see none."""

_GPU_HINT = (
    "a replica has no GPU unless it requests one: gpu_cores=1 in an AKS configuration, or "
    "resource_configuration=ResourceConfiguration(gpu=1) when the model is registered"
)


class VersionRuns:
    def __init__(
        self,
        store: Storage,
        runs: RunService,
        orchestrator: Orchestrator,
        files: VersionFiles,
        models: ModelService,
        is_elsewhere: Callable[[str, str], bool],
    ) -> None:
        """`is_elsewhere` tells whether the nodes of a compute target are other machines than this one."""
        self._store = store
        self._models = models
        self._is_elsewhere = is_elsewhere
        self._runs = runs
        self._orchestrator = orchestrator
        self._files = files
        self._submitted: set[str] = set()
        self._scaled: dict[str, int] = {}
        self._targets: dict[str, str] = {}

    def ensure(self, record: EndpointRecord, version: VersionRecord) -> None:
        """Submit the group if that has not happened, and have it keep as many replicas as the version wants."""
        if version.run not in self._submitted:
            if self._group(version) is None:
                self._runs.submit(
                    record.workspace, version.run, self._spec(record, version), record.created_by, person=record.person
                )
            self._submitted.add(version.run)
            self._scaled[version.run] = version.spec.replicas.minimum or 1
        if self._scaled[version.run] != version.replicas:
            with contextlib.suppress(Conflict):  # it has ended: the next look at the service finds that out
                self._orchestrator.tell(version.run, events.GroupScaled(version.replicas))
            self._scaled[version.run] = version.replicas

    def end(self, version: VersionRecord) -> bool:
        """End the group of a version that is stopped or failed; return whether it has ended."""
        group = self._group(version)
        if group is None or group.stage is Stage.ENDED:
            self._submitted.discard(version.run)
            self._scaled.pop(version.run, None)
            self._targets.pop(version.run, None)
            return True
        if group.outcome is None:
            failed = version.state == FAILED and version.cause is not None
            event = events.RunFailed(version.cause) if failed and version.cause else events.RunCompleted()
            with contextlib.suppress(Conflict):
                self._orchestrator.tell(version.run, event)
        return False

    def check_target(self, workspace: str, spec: VersionSpec) -> None:
        """Raise unless the compute target of a version exists and its nodes can reach this server."""
        if spec.target is not None:
            self._is_elsewhere(workspace, spec.target)

    def _group(self, version: VersionRecord) -> RunRecord | None:
        """Return the run of a version; None before it is submitted, and after it is deleted."""
        with contextlib.suppress(NotFound):
            return self._store.runs.record(version.run)
        return None

    # ── Looking ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def children(self, version: VersionRecord) -> list[Child]:
        """Return the replicas, those that have ended included, in the order of their numbers."""
        try:
            return sorted(self._store.runs.children_of(version.run), key=lambda child: (len(child.key), child.key))
        except NotFound:
            return []

    def route(self, workspace: str, version: VersionRecord) -> VersionRoute:
        """Return how the gateway reaches the replicas that are to take requests: the oldest, as many as are wanted."""
        living = [child for child in self.children(version) if not child.has_ended][: version.replicas]
        if living and self._target(version.run) != SERVICES:
            tunnels = tuple(child.id for child in living)
            return VersionRoute(tunnels=tunnels, model_data=str(self._files.model_data(workspace)))
        return VersionRoute(sockets=tuple(self._files.socket(version.run, child.key) for child in living))

    def _target(self, run: str) -> str:
        """Return the target of a version's replicas, which never changes."""
        if run not in self._targets:
            controller = self._store.runs.record(run).spec.controller
            self._targets[run] = controller.children[TEMPLATE].target if controller is not None else SERVICES
        return self._targets[run]

    def waiting(self, children: Sequence[Child]) -> str | None:
        """Return why replicas wait in the queue of their compute target; None if one of them has left it."""
        waits = [self._runs.view(child.id).waiting for child in children if not child.has_ended]
        reasons = ["" if wait is None else wait.reason for wait in waits]
        return reasons[0] if reasons and all(reasons) else None

    def has_ended(self, version: VersionRecord) -> bool:
        group = self._group(version)
        return group is not None and group.outcome is not None

    def failures(self, version: VersionRecord, children: Sequence[Child]) -> tuple[int, Cause | None]:
        """Return how many attempts of the replicas have ended, and why the last one did."""
        count = sum(child.attempt - (0 if child.has_ended else 1) for child in children)
        latest = max(children, key=lambda child: child.attempt, default=None)
        if not count or latest is None:
            return count, self._outcome(version)
        causes: list[dict[str, Any]] = [line.data["cause"] for line in self._store.runs.story(latest.id)
                                        if line.data.get("cause")]  # fmt: skip
        cause = _with_output(from_json(Cause, causes[-1])) if causes else None
        if cause is not None and not version.spec.gpus:
            cause = name_gpu_setting(cause)
        return count, cause or self._outcome(version)

    def _outcome(self, version: VersionRecord) -> Cause | None:
        group = self._group(version)
        return None if group is None or group.outcome is None else group.outcome.cause

    # ── The spec ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _spec(self, record: EndpointRecord, version: VersionRecord) -> RunSpec:
        spec = version.spec
        models = [self._models.get(record.workspace, *pair) for pair in models_of(version)]
        if spec.target is not None and self._is_elsewhere(record.workspace, spec.target):
            target = spec.target
            snapshot = self._files.pack(record, version, models)
            config = f"{PACKED}/config.json"
        else:
            self._files.prepare(record, version, models)
            target = SERVICES
            snapshot = spec.snapshot
            config = str(self._files.config(version.run))
        command = f"exec python -m footplate.serving.worker {shlex.quote(config)}"
        replica = RunSpec(
            EXPERIMENT, type=RUN_TYPE, program=Program(command=command), target=target,
            environment=spec.environment or EnvironmentSpec(), lock=spec.lock, snapshot=snapshot,
            environment_variables=spec.environment_variables, gpus=GpuRequest(per_node=spec.gpus), max_attempts=None,
            restart=RESTART, collect=(), watch=(), properties={"service": record.name},
        )  # fmt: skip
        replicas = spec.replicas.minimum or 1
        return RunSpec(
            EXPERIMENT, kind=GROUP, type=RUN_TYPE, display_name=f"{record.name} version {version.number}",
            controller=ControllerSpec(KIND, {"replicas": replicas}, {TEMPLATE: replica}, interval=0),
            properties={"service": record.name, "version": str(version.number)}, snapshot=snapshot,
        )  # fmt: skip


def models_of(version: VersionRecord) -> list[tuple[str, int]]:
    return [(name, int(number)) for name, _, number in (each.rpartition(":") for each in version.spec.models)]


def name_gpu_setting(cause: Cause) -> Cause:
    """Return the cause of a replica that requested no GPU with a hint at the setting, if it failed for lack of one."""
    text = "\n".join((cause.message, cause.exception_message or "", *cause.last_lines)).lower()
    return replace(cause, hint=_GPU_HINT) if any(words in text for words in _NO_GPU) else cause


def _with_output(cause: Cause) -> Cause:
    """Return the cause with the last line of the replica's output in its message: the exit code alone says little."""
    lines = [line.strip() for line in cause.last_lines if line.strip()]
    last_line = next((line for line in reversed(lines) if not line.startswith("hint:")), None)
    hint = next((line[len("hint:") :].strip() for line in reversed(lines) if line.startswith("hint:")), cause.hint)
    if cause.exception is not None or last_line is None:
        return cause
    return replace(cause, message=f"{cause.message}: {last_line}", hint=hint)
