"""The HTTP API, typed: one method per route, over any transport. STANDARD LIBRARY ONLY, Python ≥ 3.8: jobs import it.

`ApiClient(transport).runs.get(run)` sends `GET /runs/{run}` and returns a `RunView`. Paths appear in two places: the
routes of `footplate.server` and the modules here.

base            the transport interface, and what all nouns share
blobs           content by digest
changes         changes in a workspace, as they happen
computes        compute targets of a workspace
datasets        definitions, versions, lineage, datasets of a run
datastores      registered stores and access to them
endpoints       web services
environments    registered and curated environments
experiments     experiments of a workspace
files           artifacts and logs of a run
locks           resolved environments, builds, caches
links           signed links to files of runs
logs            lines of logs, and searches in them
metrics         journals in, series and summaries out
models          registered models
nodes           requests of node agents
notifications   messages to people when runs end
people          people, service accounts, their roles and tokens
runs            submit, list, follow, change and end runs
secrets         secrets of a workspace
server          the server itself
sessions        sessions of browsers
store_files     files of built-in datastores
tls             TLS with a private authority
workspaces      workspaces
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    from footplate.api.base import Requester
    from footplate.api.blobs import BlobsApi
    from footplate.api.changes import ChangesApi
    from footplate.api.computes import ComputesApi
    from footplate.api.datasets import DatasetsApi
    from footplate.api.datastores import DatastoresApi
    from footplate.api.endpoints import EndpointsApi
    from footplate.api.environments import EnvironmentsApi
    from footplate.api.experiments import ExperimentsApi
    from footplate.api.files import FilesApi
    from footplate.api.locks import LocksApi
    from footplate.api.logs import LogsApi
    from footplate.api.metrics import MetricsApi
    from footplate.api.models import ModelsApi
    from footplate.api.nodes import NodesApi
    from footplate.api.notifications import NotificationsApi
    from footplate.api.people import PeopleApi
    from footplate.api.runs import RunsApi
    from footplate.api.secrets import SecretsApi
    from footplate.api.server import ServerApi
    from footplate.api.sessions import SessionsApi
    from footplate.api.store_files import StoreFilesApi
    from footplate.api.workspaces import WorkspacesApi

LONG_POLL = 30.0
"""Seconds for which one request may wait for something new; the server allows no more."""

PREFIX = "/api/v1"
"""The prefix of every path. Templates and paths are written without it; the transport adds it."""


class ApiClient:
    """A client of the server behind `transport`. Nouns are loaded on first use: a job that ships metrics loads one."""

    blobs: BlobsApi
    changes: ChangesApi
    computes: ComputesApi
    datasets: DatasetsApi
    datastores: DatastoresApi
    endpoints: EndpointsApi
    environments: EnvironmentsApi
    experiments: ExperimentsApi
    files: FilesApi
    locks: LocksApi
    logs: LogsApi
    metrics: MetricsApi
    models: ModelsApi
    nodes: NodesApi
    notifications: NotificationsApi
    people: PeopleApi
    runs: RunsApi
    secrets: SecretsApi
    server: ServerApi
    sessions: SessionsApi
    store_files: StoreFilesApi
    workspaces: WorkspacesApi

    def __init__(self, transport: Requester) -> None:
        self._transport = transport

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in NOUNS:
                raise AttributeError(f"the API has no noun {name!r}; it has {', '.join(NOUNS)}")
            noun = getattr(importlib.import_module(f"{__name__}.{name}"), NOUNS[name])(self._transport)
            setattr(self, name, noun)
            return noun


NOUNS: Dict[str, str] = ApiClient.__annotations__
"""The nouns, and the class of each in the module of its name."""
