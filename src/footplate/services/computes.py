"""Compute targets: their limits, their engine, and their current use."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from footplate.domain import scaling, shapes
from footplate.domain.records import ClusterView, ComputeView, EngineView
from footplate.domain.specs import MAX_PROCESSES
from footplate.domain.targets import LOCAL, SERVICES
from footplate.engines import target_options
from footplate.engines.base import AgentJob, ClusterEngine, Engine, NodeResources
from footplate.errors import Conflict, InvalidInput, NotFound, Unavailable
from footplate.services.capacity import capacity_from, capacity_of
from footplate.services.orchestration.agent_jobs import Listeners
from footplate.services.orchestration.orchestrator import Orchestrator
from footplate.services.orchestration.queues import QueueReader
from footplate.services.settings import read_settings
from footplate.storage import Storage

_NAME = re.compile(r"[a-zA-Z]([a-zA-Z0-9\-_]{0,62}[a-zA-Z0-9])?", re.ASCII)
_RESERVED = (LOCAL, "amlcompute", "containerinstance")
_SETTINGS = ("engine", "max_nodes", "min_nodes", "idle_seconds", "options")


class ComputeService:
    def __init__(
        self,
        store: Storage,
        orchestrator: Orchestrator,
        queues: QueueReader,
        home: Path,
        listeners: Listeners,
        load_engine: Callable[[str], Engine],
        clock: Callable[[], float] = time.time,
        engine_names: Iterable[str] = (),
    ) -> None:
        self._store = store
        self._engine_names = list(engine_names)
        self._home = home
        self._listeners = listeners
        self._orchestrator = orchestrator
        self._queues = queues
        self._load_engine = load_engine
        self._clock = clock

    def put(
        self,
        workspace: str,
        name: str,
        max_nodes: int,
        min_nodes: int = 0,
        idle_seconds: float = 1800.0,
        engine: str = LOCAL,
        options: dict[str, Any] | None = None,
        if_exists: str = "refuse",
        check: bool = True,
    ) -> ComputeView:
        """Store a target. `check`: also that its cluster answers and that its nodes can reach this server."""
        _check_name(name)
        _check_sizes(min_nodes, max_nodes, idle_seconds)
        target_options.check_options(self._load_engine(engine), options or {})
        self._store.workspaces.get(workspace)
        now = self._clock()
        view = ComputeView(name, workspace, engine, max_nodes, now, now, min_nodes, idle_seconds, options=options or {})
        if if_exists != "replace" and self._is_known(view):
            return self.get(workspace, name)
        if check:
            self._check_cluster(view)
        self._store.computes.put(view, replace=if_exists == "replace")
        self._orchestrator.look_at_queue(workspace, name)
        return self.get(workspace, name)

    def _is_known(self, view: ComputeView) -> bool:
        """Whether this very target exists. Raise Conflict if there is another one of this name."""
        try:
            stored = self._store.computes.get(view.workspace, view.name)
        except NotFound:
            return False
        differs = [name for name in _SETTINGS if getattr(stored, name) != getattr(view, name)]
        if differs:
            raise Conflict(
                f"compute target {view.name!r} exists, with other settings ({', '.join(differs)})",
                f"see them with: footplate compute show {view.name}; delete it first, or choose another name",
            )
        return True

    def _check_cluster(self, view: ComputeView) -> None:
        engine = self._load_engine(view.engine)
        self._try_options(engine, view, {})
        if isinstance(engine, ClusterEngine):
            _reach(engine, view, "correct the address, or add the target without this check: --no-check, check=False")

    def cluster(self, workspace: str, name: str) -> ClusterView:
        """Ask the cluster of a target how many nodes it has. Raise InvalidInput if it does not answer."""
        view = self.definition(workspace, name)
        engine = self._load_engine(view.engine)
        one_machine = engine.node_shape() is not None
        return ClusterView(1 if one_machine else _reach(engine, view) if isinstance(engine, ClusterEngine) else None)

    def _try_options(self, engine: Engine, view: ComputeView, overrides: Mapping[str, Any]) -> None:
        """Have the engine render a job that is never submitted: it raises InvalidInput for a bad value."""
        capacity = capacity_from(view)
        resources = NodeResources(capacity.cpus, capacity.memory, capacity.gpus, view.options.get("resources") or {})
        home = str(self._home) if engine.shares_home else None
        endpoint = self._listeners.endpoint_for(engine)
        job = AgentJob(
            run="trial", attempt=1, node_count=1, endpoint=endpoint, token="trial", home=home, bundle="trial",
            resources=resources, options={**view.options, **overrides},
        )  # fmt: skip
        engine.prepare(job)

    def engines(self) -> list[EngineView]:
        """Describe every engine; one that cannot be loaded with the reason."""
        return [self._describe(name) for name in self._engine_names]

    def _describe(self, name: str) -> EngineView:
        try:
            engine = self._load_engine(name)
        except InvalidInput as error:
            return EngineView(name, problem=error.message)
        options = {**engine.options, **target_options.EVERY_ENGINE}
        return EngineView(name, options, target_options.run_options(engine))

    def get(self, workspace: str, name: str) -> ComputeView:
        return self._with_load(self.definition(workspace, name))

    def definition(self, workspace: str, name: str) -> ComputeView:
        """Return the target without its current use, which takes a look at its history."""
        if name.lower() in (LOCAL, SERVICES):
            slots = capacity_of(self._store, workspace, name.lower()).max_nodes
            return ComputeView(name.lower(), workspace, LOCAL, slots, 0.0, 0.0, idle_seconds=0.0)
        return self._store.computes.get(workspace, name)

    def is_on_other_machines(self, workspace: str, name: str) -> bool:
        """Tell whether the nodes of a target are other machines. Raise if it does not exist or cannot reach us."""
        capacity = capacity_of(self._store, workspace, name)
        engine = self._load_engine(capacity.engine)
        self._listeners.endpoint_for(engine)
        return not engine.shares_home

    def list(self, workspace: str) -> list[ComputeView]:
        return [self._with_load(view) for view in self._store.computes.list(workspace)]

    def change(
        self,
        workspace: str,
        name: str,
        max_nodes: int | None = None,
        min_nodes: int | None = None,
        idle_seconds: float | None = None,
        options: dict[str, Any] | None = None,
    ) -> ComputeView:
        _refuse_local(name, "changed")
        old = self._store.computes.get(workspace, name)
        new = replace(
            old,
            max_nodes=old.max_nodes if max_nodes is None else max_nodes,
            min_nodes=old.min_nodes if min_nodes is None else min_nodes,
            idle_seconds=old.idle_seconds if idle_seconds is None else idle_seconds,
            options=old.options if options is None else options,
            kinds=old.kinds if options in (None, old.options) else (),
            modified=self._clock(),
        )
        _check_sizes(new.min_nodes, new.max_nodes, new.idle_seconds)
        target_options.check_options(self._load_engine(new.engine), new.options)
        if options is not None:
            self._check_cluster(new)
        self._store.computes.put(new, replace=True)
        self._orchestrator.look_at_queue(workspace, name)
        return self._with_load(new)

    def delete(self, workspace: str, name: str) -> None:
        _refuse_local(name, "deleted")
        self._store.computes.get(workspace, name)
        active = [
            r.id for r in self._store.runs.active(with_nodes=True) if (r.workspace, r.spec.target) == (workspace, name)
        ]
        if active:
            more = f" and {len(active) - 1} more" if len(active) > 1 else ""
            raise Conflict(
                f"compute target {name!r} is in use: {active[0]}{more} {'have' if more else 'has'} not ended",
                f"wait for that, or cancel what runs there (footplate runs cancel {active[0]}), then delete it",
            )
        self._store.computes.delete(workspace, name)

    def _with_load(self, view: ComputeView) -> ComputeView:
        now = self._clock()
        # The history of an earlier cluster of this name does not count.
        since = max(view.created, now - 2 * view.idle_seconds)
        history = self._store.runs.stays(view.workspace, view.name, since)
        stays = [stay for stay in history if stay.began >= view.created]
        nodes = scaling.count(stays, scaling.Sizes(view.min_nodes, view.max_nodes, view.idle_seconds), now)
        gpus, busy_gpus = self._queues.gpus_in_use(view.engine)
        return replace(
            view,
            busy_nodes=sum(stay.nodes for stay in stays if stay.ended is None),
            preparing_nodes=nodes.preparing,
            idle_nodes=nodes.idle,
            current_nodes=nodes.current,
            target_nodes=nodes.target,
            resized=max(view.modified, nodes.changed or 0.0),
            waiting_runs=self._queues.count_waiting(view.workspace, view.name),
            gpus=gpus,
            busy_gpus=busy_gpus,
        )

    def check_run(self, target: ComputeView, overrides: Mapping[str, Any]) -> None:
        """Raise InvalidInput for an option of the target that a run may not override, or for a bad value."""
        if overrides:
            engine = self._load_engine(target.engine)
            target_options.check_run_options(engine, target.name, overrides)
            self._try_options(engine, target, overrides)

    def fit(self, target: ComputeView) -> list[str]:
        """Return warnings for a run on this target; raise InvalidInput if the settings require the exact shape."""
        there = self._load_engine(target.engine).node_shape()
        size = str(target.options.get("vm_size") or "")
        shape = capacity_from(target).shape()
        missing = shapes.lacks(shape, there) if shape is not None and there is not None else []
        if there is None or not (missing or (size and shape is None)):
            return []
        if shape is None:
            text = f"{target.name!r} requests nodes of size {size}, whose shape is unknown"
            close = difflib.get_close_matches(size.upper(), shapes.names(), 1, 0.8)
            text += f" (is it {close[0]}?)" if close else ""
        else:
            requested = size or shapes.describe(shape)
            has_not = ", ".join(missing)
            text = f"{target.name!r} requests nodes of size {requested}, and this machine does not have {has_not}"
        if read_settings(self._home).shapes == "exact":
            raise InvalidInput(text, "give the cluster another vm_size, or set shapes = nearest in settings.ini")
        return [f"{text}: the run uses the resources that exist"]


def _reach(engine: ClusterEngine, view: ComputeView, hint: str | None = None) -> int | None:
    capacity = capacity_from(view)
    shape = {"cpus": capacity.cpus, "memory": capacity.memory}
    try:
        return engine.reach({**view.options, **shape})
    except Unavailable as error:  # not passed on: clients retry it for minutes
        message = f"the cluster of {view.name!r} does not answer: {error.message}"
        raise InvalidInput(message, hint or error.hint) from None


def _refuse_local(name: str, verb: str) -> None:
    if name.lower() == LOCAL:
        raise InvalidInput(
            "the target 'local' cannot be " + verb, "make a cluster of your own: footplate compute create"
        )


def _check_name(name: str) -> None:
    if name.lower() in _RESERVED:
        raise InvalidInput(f"{name!r} is a reserved name", "choose another name for the compute target")
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r} is not a compute target's name",
            "use 1 to 64 letters, digits, '-' and '_', starting with a letter and ending with a letter or digit",
        )


def _check_sizes(min_nodes: int, max_nodes: int, idle_seconds: float) -> None:
    if not 1 <= max_nodes <= MAX_PROCESSES or not 0 <= min_nodes <= max_nodes:
        raise InvalidInput(
            f"min_nodes={min_nodes}, max_nodes={max_nodes} is not a size",
            f"give 0 ≤ min_nodes ≤ max_nodes, 1 ≤ max_nodes ≤ {MAX_PROCESSES}",
        )
    if not 0 <= idle_seconds < float("inf"):
        raise InvalidInput(f"idle_seconds is {idle_seconds:g}", "give 0 or more")
