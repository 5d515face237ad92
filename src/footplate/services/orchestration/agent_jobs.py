"""Describes the agents of a run to an engine: how they reach this server, and what their nodes need."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footplate.domain import gpus
from footplate.domain.records import RunRecord
from footplate.engines.base import AgentJob, Engine, NodeResources
from footplate.engines.target_options import check_run_options
from footplate.errors import InvalidInput
from footplate.services.access.tokens import TokenHolder, TokenService
from footplate.services.capacity import Capacity, capacity_of
from footplate.services.orchestration.agent_archives import AgentArchives
from footplate.storage import Storage

AZURE_LIFETIME = 31 * 24 * 3600.0
"""The lifetime of a token that Azure's clients are shown; it really ends with the run."""

GRACE_SECONDS = 120.0
"""Seconds that a node may take to end its ranks and ship before the engine ends it by force. Agents enforce their own,
much shorter grace on the ranks; this one is for an agent that hangs."""


@dataclass(frozen=True)
class Listeners:
    """How this server can be reached: by its socket, and at `url` by other machines if it listens on TCP."""

    socket: str
    url: str | None = None
    ca: str = ""  # authority of the certificate at `url`, for nodes

    def endpoint_for(self, engine: Engine) -> str:
        """Return the address at which agents of this engine reach the server. Raise InvalidInput if there is none."""
        if engine.shares_home:
            return self.socket
        if self.url is None:
            raise InvalidInput(
                f"the engine {engine.name!r} starts agents on other machines, and this server listens only on its "
                "socket",
                "start it with: footplate server --host ADDRESS --port PORT",
            )
        return self.url


@dataclass(frozen=True)
class ServerAccess:
    """How the agents and ranks of one run reach this server."""

    endpoint: str
    token: str
    expires: float
    home: str | None = None


class AgentJobs:
    """Builds the AgentJob of a run, and the access that its ranks get."""

    def __init__(
        self,
        store: Storage,
        tokens: TokenService,
        listeners: Listeners,
        home: Path,
        load_engine: Callable[[str], Engine],
        archives: AgentArchives,
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._listeners = listeners
        self._home = home
        self._load_engine = load_engine
        self._archives = archives

    def engine_of(self, workspace: str, target: str) -> Engine:
        return self._load_engine(capacity_of(self._store, workspace, target).engine)

    def build(self, record: RunRecord, is_first: bool = False) -> AgentJob:
        """Return the job for the engine of the run's target, which may have changed since the submission."""
        capacity, access = self._capacity(record), self.access(record)
        self._tokens.remember(access.token, TokenHolder(record.id, record.workspace))
        check_run_options(self._load_engine(capacity.engine), record.spec.target, record.spec.engine_options)
        options = {**capacity.options, **record.spec.engine_options}
        return AgentJob(
            run=record.id,
            attempt=record.attempt,
            node_count=len(record.nodes),
            endpoint=access.endpoint,
            token=access.token,
            home=access.home,
            bundle=None if access.home else self._archives.bundle(),
            ca="" if access.home else self._listeners.ca,
            resources=_resources(record, capacity, options),
            time_limit=record.spec.max_seconds,
            grace=GRACE_SECONDS,
            options=options,
            describe=access.home is None and (record.lock is None or record.spec.describe_nodes),
            is_first=is_first,
        )

    def access(self, record: RunRecord) -> ServerAccess:
        """Return how the agents and ranks of this run reach the server."""
        engine = self.engine_of(record.workspace, record.spec.target)
        expires = time.time() + AZURE_LIFETIME
        token = self._tokens.token_of(record.id, record.attempt)
        endpoint = self._listeners.endpoint_for(engine)
        return ServerAccess(endpoint, token, expires, str(self._home) if engine.shares_home else None)

    def _capacity(self, record: RunRecord) -> Capacity:
        return capacity_of(self._store, record.workspace, record.spec.target)


def _resources(record: RunRecord, capacity: Capacity, options: Mapping[str, Any]) -> NodeResources:
    firm = [need.count for need in gpus.needs(record.spec, capacity.gpus) if need.firm]
    return NodeResources(
        cpus=capacity.cpus,
        memory=capacity.memory,
        gpus=max(firm) if firm else None,
        custom=dict(options.get("resources") or {}),
    )
