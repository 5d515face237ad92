"""The verbs of the server: one module per noun. A service validates, calls storage, and reports events.

The orchestrator applies events to runs and performs the effects.

Runs
    runs           submit, list, change, cancel and restart runs
    orchestration/ takes events, saves decisions, performs effects; the queue, agents, groups
    sweeps         the trials of a sweep
    pipelines      the data of a step, and results that are reused
    story          lines of a run's story
    stacks         stack traces of running processes
    tracking/      runs, points and searches of other trackers' clients
    metrics        journals in, series out
    files          artifacts and logs of runs
    telemetry/     pages of logs, searches, and what happened at a moment
    artifacts/     contents of large files: object store, shared directory, replaced checkpoints
Nodes
    nodes          requests of node agents
    shipments      events and pieces of files that arrive together
    gpu_allocator  assigns GPUs to the nodes of a run
    capacity       nodes and shape of a compute target
    computes       compute targets
Data, models, environments
    datasets, datastores, store_files    definitions of datasets, registered stores, files of built-in stores
    models         registered models
    endpoints/     web services: their versions, their gateway
    environments   registered and curated environments
    locks          resolved environments, builds and caches
Server
    notifications  messages to people when runs end
    workspaces     workspaces and experiments
    secrets        secrets of a workspace
    access/        people, roles, tokens and sessions; the audit log
    disk_space     a full disk, reported with every active run
    run_limits     what a run may submit
    topics         changes that long polls wait for
    settings       `settings.ini`
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from footplate.domain.pipelines.graph import KIND as PIPELINE
from footplate.engines import EngineRegistry, open_files
from footplate.engines.base import Engine
from footplate.services.access.audit import AuditService
from footplate.services.access.identities import AccessCache
from footplate.services.access.ownership import Ownership
from footplate.services.access.people import PeopleService
from footplate.services.access.person_tokens import PersonTokenService
from footplate.services.access.server_key import ServerKey
from footplate.services.access.sessions import SessionService
from footplate.services.access.tokens import TokenService
from footplate.services.artifacts.handovers import HandoverService
from footplate.services.artifacts.object_blobs import ObjectBlobs
from footplate.services.computes import ComputeService
from footplate.services.datasets import DatasetService
from footplate.services.datastores import DatastoreService
from footplate.services.endpoints.certificates import Certificates
from footplate.services.endpoints.endpoint_service import EndpointService
from footplate.services.endpoints.gateway_process import GatewayProcess
from footplate.services.endpoints.keeper import Keeper
from footplate.services.endpoints.version_files import VersionFiles
from footplate.services.endpoints.version_runs import VersionRuns
from footplate.services.environments import EnvironmentService
from footplate.services.files import FileService
from footplate.services.locks import LockService
from footplate.services.metrics import MetricService
from footplate.services.models import ModelService
from footplate.services.nodes import NodeService
from footplate.services.notifications import Notifications
from footplate.services.orchestration.agent_archives import AgentArchives
from footplate.services.orchestration.agent_jobs import AgentJobs, Listeners
from footplate.services.orchestration.orchestrator import Orchestrator
from footplate.services.orchestration.queues import QueueReader
from footplate.services.pipelines import StepPreparer
from footplate.services.run_limits import RunLimits
from footplate.services.runs import RunService
from footplate.services.secrets import SecretService
from footplate.services.settings import read_engines, read_gateway_memory, read_store
from footplate.services.shipments import ShipmentService
from footplate.services.stacks import StackService
from footplate.services.store_files import StoreFileService
from footplate.services.sweeps import SweepService
from footplate.services.telemetry.moment import MomentService
from footplate.services.telemetry.run_logs import LogService
from footplate.services.topics import Publish
from footplate.services.tracking.tracking_service import TrackingService
from footplate.services.workspaces import WorkspaceService
from footplate.storage import Storage


class Services:
    """All services, wired together. One per server process."""

    def __init__(
        self,
        store: Storage,
        publish: Publish,
        listeners: Listeners,
        home: Path,
        load_engine: Callable[[str], Engine] | None = None,
        watch_seconds: float = 1.0,
    ) -> None:
        self.store = store
        self.home = home
        self.tokens = TokenService(store)
        cache = AccessCache()
        self.people = PeopleService(store, cache)
        self.person_tokens = PersonTokenService(store, self.people, cache)
        self.server_key = ServerKey(store, cache)
        self.sessions = SessionService(store, self.people, self.person_tokens, cache)
        self.ownership = Ownership(store)
        self.audit = AuditService(store)
        registry = EngineRegistry(read_engines(home))
        load_engine = load_engine or registry.load
        self.environments = EnvironmentService(store)
        self.locks = LockService(store, home, publish)
        self.archives = AgentArchives(home)
        queues = QueueReader(store, load_engine)
        jobs = AgentJobs(store, self.tokens, listeners, home, load_engine, self.archives)
        self.notifications = Notifications(home)
        self.orchestrator = Orchestrator(store, publish, home, queues, jobs, self.notifications, watch_seconds)
        self.workspaces = WorkspaceService(store)
        self.computes = ComputeService(
            store, self.orchestrator, queues, home, listeners, load_engine, engine_names=registry.names()
        )
        store.datastores.lie_in(read_store(home))
        self.object_blobs = ObjectBlobs(store, home)
        self.handovers = HandoverService(store)
        self.datastores = DatastoreService(store)
        self.store_files = StoreFileService(store)
        self.datasets = DatasetService(store)
        self.limits = RunLimits(store, self.datastores)
        self.runs = RunService(
            store, self.orchestrator, self.computes, self.datasets, self.limits, self.notifications, publish
        )
        steps = StepPreparer(store, self.datasets, self.datastores)
        self.orchestrator.groups.connect(self.runs.submit, self.runs.cancel, {PIPELINE: steps.prepare})
        self.files = FileService(store, publish, self.object_blobs)
        self.logs = LogService(store)
        self.moments = MomentService(store)
        self.metrics = MetricService(store, publish, self.orchestrator.groups.metrics_arrived)
        self.tracking = TrackingService(store, self.runs, self.metrics, publish)
        self.models = ModelService(store)
        self._keeper, self.endpoints = self._make_endpoints(store, publish)
        self.secrets = SecretService(store)
        self.sweeps = SweepService(store)
        self.stacks = StackService(store, publish)
        self.nodes = NodeService(store, self.orchestrator, queues, jobs, home, self.object_blobs)
        self.orchestrator.effects.connect(self.nodes.orders_at_launch)
        self.shipments = ShipmentService(self.nodes, self.files, self.metrics)

    def _make_endpoints(self, store: Storage, publish: Publish) -> tuple[Keeper, EndpointService]:
        files = VersionFiles(self.home, store, self.object_blobs.bring)
        gateway = GatewayProcess(self.home, read_gateway_memory(self.home))
        versions = VersionRuns(
            store, self.runs, self.orchestrator, files, self.models, self.computes.is_on_other_machines
        )
        certificates = Certificates(self.home)
        keeper = Keeper(store, versions, files, gateway, certificates, publish)
        return keeper, EndpointService(store, self.models, versions, gateway, keeper, certificates, publish)

    def start(self) -> None:
        """Resume the runs of an earlier server: perform the effects that the state of each active run requires."""
        open_files.raise_limit()
        self.store.blobs.sweep()
        self.store.blobs.clear_damage()
        self.orchestrator.start()
        self._keeper.start()

    def stop(self) -> None:
        """Stop deciding. Agents, ranks and the gateway continue; nothing is canceled."""
        self._keeper.stop()
        self.orchestrator.stop()
        self.notifications.stop()

    def active_runs(self) -> int:
        """Return the number of runs that the server must stay up for."""
        return self.orchestrator.active_runs()
