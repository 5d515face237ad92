"""VERBS: what can be done to the things that the server keeps, one module per noun.

A service validates, calls storage, and tells the orchestrator what happened. Only the orchestrator has effects
performed, by `effects`, `scheduler` and `watcher`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from footplate.engines import EngineRegistry
from footplate.engines.base import Engine
from footplate.services.agent_jobs import AgentJobs, Listeners
from footplate.services.computes import ComputeService
from footplate.services.datasets import DatasetService
from footplate.services.datastores import DatastoreService
from footplate.services.environments import EnvironmentService
from footplate.services.files import FileService
from footplate.services.locks import LockService
from footplate.services.metrics import MetricService
from footplate.services.models import ModelService
from footplate.services.nodes import NodeService
from footplate.services.orchestrator import Orchestrator
from footplate.services.queues import QueueReader
from footplate.services.runs import RunService
from footplate.services.secrets import SecretService
from footplate.services.settings import read_engines, read_store
from footplate.services.stacks import StackService
from footplate.services.store_files import StoreFileService
from footplate.services.tokens import TokenService
from footplate.services.workspaces import WorkspaceService
from footplate.storage import Storage


class Bulletin(Protocol):
    """Where services say that something changed; the server's long polls listen."""

    def publish(self, topic: str) -> None: ...


class Services:
    """All nouns, wired together. One per server process."""

    def __init__(
        self,
        store: Storage,
        hub: Bulletin,
        listeners: Listeners,
        home: Path,
        load_engine: Callable[[str], Engine] | None = None,
        watch_seconds: float = 1.0,
    ) -> None:
        self.store = store
        self.home = home
        self.tokens = TokenService(store.tokens)
        load_engine = load_engine or EngineRegistry(read_engines(home)).load
        self.environments = EnvironmentService(store)
        self.locks = LockService(store, home, hub.publish)
        lines, jobs = QueueReader(store, load_engine), AgentJobs(store, self.tokens, listeners, home, load_engine)
        self.orchestrator = Orchestrator(store, hub.publish, home, lines, jobs, watch_seconds)
        self.workspaces = WorkspaceService(store)
        self.computes = ComputeService(store, self.orchestrator, lines, home, load_engine)
        store.datastores.lie_in(read_store(home))
        self.datastores = DatastoreService(store)
        self.store_files = StoreFileService(store)
        self.datasets = DatasetService(store)
        self.runs = RunService(store, self.orchestrator, self.computes, self.datasets, hub.publish)
        self.orchestrator.groups.connect(self.runs.submit, self.runs.cancel)
        self.files = FileService(store, hub.publish)
        self.metrics = MetricService(store, hub.publish, self.orchestrator.groups.metrics_arrived)
        self.models = ModelService(store)
        self.secrets = SecretService(store)
        self.stacks = StackService(store, hub.publish)
        self.nodes = NodeService(store, self.orchestrator, lines, jobs)

    def start(self) -> None:
        """Take up what an earlier server left: every active run gets the effects that its state asks for."""
        self.store.blobs.sweep()
        self.orchestrator.start()

    def stop(self) -> None:
        """Stop deciding. Agents and ranks go on; nothing is cancelled."""
        self.orchestrator.stop()

    def active_runs(self) -> int:
        """How many runs an engine is, or soon will be, busy with."""
        return self.orchestrator.active_runs()
