"""A workspace: the namespace of experiments, runs, models, computes, environments and data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Set

from footplate import environ
from footplate.domain.targets import LOCAL
from footplate.sdk import compute, config, data, environments, models, notebooks, runs
from footplate.sdk.cloud_workspace import CloudWorkspace
from footplate.sdk.exceptions import Kinds, UserErrorException, WorkspaceException
from footplate.sdk.keyvault import Keyvault
from footplate.sdk.runs.experiment import Experiment, run_of_view
from footplate.sdk.session import Session, open_session
from footplate.sdk.timestamps import utc_text

if TYPE_CHECKING:
    from footplate.domain.records import WorkspaceView
    from footplate.sdk.compute.targets import AmlComputeProvisioningConfiguration, ComputeTarget
    from footplate.sdk.config.workspace_file import WorkspaceConfig
    from footplate.sdk.data.datastore_kinds import AbstractDatastore
    from footplate.sdk.environments.environment import Environment
    from footplate.sdk.models.model import Model
    from footplate.sdk.models.webservice import Webservice
    from footplate.sdk.runs.run import Run

DEFAULT_SUBSCRIPTION = LOCAL
DEFAULT_RESOURCE_GROUP = LOCAL
_KINDS: Kinds = {"not_found": WorkspaceException, "conflict": WorkspaceException}
_recovered: Set[Session] = set()
_DEFAULT_COMPUTE = {"cpu": "cpu-cluster", "gpu": "gpu-cluster"}


class _DefaultCluster:
    """A class attribute whose value is created on first use: the compute modules take 30 ms to import."""

    def __init__(self, vm_size: str) -> None:
        self._vm_size = vm_size

    def __get__(self, instance: Any, owner: Any) -> AmlComputeProvisioningConfiguration:
        return compute.targets.AmlCompute.provisioning_configuration(self._vm_size, max_nodes=2)


class Workspace(CloudWorkspace):
    """An existing workspace. Constructing it queries the server and raises WorkspaceException if there is none."""

    DEFAULT_CPU_CLUSTER_CONFIGURATION = _DefaultCluster("STANDARD_DS2_V2")
    DEFAULT_GPU_CLUSTER_CONFIGURATION = _DefaultCluster("STANDARD_NC6")

    def __init__(
        self,
        subscription_id: str,
        resource_group: str,
        workspace_name: str,
        auth: Any = None,
        _location: Optional[str] = None,
        _disable_service_check: bool = False,
        _workspace_id: Optional[str] = None,
        sku: str = "basic",
        tags: Optional[Mapping[str, str]] = None,
        _cloud: str = "AzureCloud",
    ) -> None:
        self.session = _connect()
        self._view = _find(self.session, workspace_name, subscription_id, resource_group)

    @classmethod
    def _of(cls, session: Session, view: WorkspaceView) -> Workspace:
        made = object.__new__(cls)
        made.session, made._view = session, view
        return made

    # ── finding and making ──

    @staticmethod
    def from_config(
        path: Optional[str] = None, auth: Any = None, _logger: Any = None, _file_name: Optional[str] = None
    ) -> Workspace:
        """Return the workspace that the nearest configuration file names; create it on first use.

        A file downloaded from Azure works unchanged: it names a workspace of this machine. A job ignores the
        team server in the file of its snapshot and uses the connection of its run.
        """
        wanted = config.workspace_file.read(config.workspace_file.find(path, _file_name))
        session = _connect(None if _in_a_job() else wanted.server)
        found = _search(session, wanted.workspace_name, wanted.subscription_id, wanted.resource_group)
        return Workspace._of(session, found[0] if found else _create(session, wanted, if_exists="return"))

    @staticmethod
    def setup() -> Workspace:
        """Return the workspace of this directory; if it has none, create one named after the directory."""
        try:
            return Workspace.from_config()
        except UserErrorException:
            made = Workspace.create(config.workspace_file.name_for(os.getcwd()), exist_ok=True, show_output=False)
            made.write_config()
            return made

    @staticmethod
    def get(
        name: str,
        auth: Any = None,
        subscription_id: Optional[str] = None,
        resource_group: Optional[str] = None,
        location: Optional[str] = None,
        cloud: str = "AzureCloud",
        id: Optional[str] = None,
        *,
        server: Optional[str] = None,
    ) -> Workspace:
        """Return an existing workspace. `server` is the address of a team server."""
        session = _connect(server)
        return Workspace._of(session, _find(session, name, subscription_id, resource_group))

    @staticmethod
    def create(
        name: str,
        auth: Any = None,
        subscription_id: Optional[str] = None,
        resource_group: Optional[str] = None,
        location: Optional[str] = None,
        create_resource_group: bool = True,
        sku: str = "basic",
        tags: Optional[Mapping[str, str]] = None,
        friendly_name: Optional[str] = None,
        storage_account: Any = None,
        key_vault: Any = None,
        app_insights: Any = None,
        container_registry: Any = None,
        adb_workspace: Any = None,
        primary_user_assigned_identity: Any = None,
        cmk_keyvault: Any = None,
        resource_cmk_uri: Any = None,
        hbi_workspace: bool = False,
        default_cpu_compute_target: Optional[AmlComputeProvisioningConfiguration] = None,
        default_gpu_compute_target: Optional[AmlComputeProvisioningConfiguration] = None,
        private_endpoint_config: Any = None,
        private_endpoint_auto_approval: bool = True,
        exist_ok: bool = False,
        show_output: bool = True,
        *,
        server: Optional[str] = None,
        **cloud_resources: Any,
    ) -> Workspace:
        """Create a workspace. If it exists, return it with `exist_ok`, otherwise raise WorkspaceException.

        `server` is the address of a team server. Azure's resources (storage_account, key_vault, …) are accepted and
        ignored. The default compute targets become the clusters cpu-cluster and gpu-cluster.
        """
        wanted = config.workspace_file.WorkspaceConfig(
            subscription_id or DEFAULT_SUBSCRIPTION, resource_group or DEFAULT_RESOURCE_GROUP, name, server
        )
        extra: Dict[str, Any] = {"tags": {str(k): str(v) for k, v in (tags or {}).items()}}
        if location:
            extra["location"] = location
        if friendly_name:
            extra["friendly_name"] = friendly_name
        session = _connect(server)
        made = Workspace._of(session, _create(session, wanted, "return" if exist_ok else "refuse", extra))
        for kind, sizes in (("cpu", default_cpu_compute_target), ("gpu", default_gpu_compute_target)):
            if sizes is not None and made.get_default_compute_target(kind) is None:
                compute.targets.ComputeTarget.create(made, _DEFAULT_COMPUTE[kind], sizes)
        if show_output:
            print(f"Workspace {name} is ready.")
        return made

    @staticmethod
    def list(
        subscription_id: Optional[str] = None,
        auth: Any = None,
        resource_group: Optional[str] = None,
        *,
        server: Optional[str] = None,
    ) -> Dict[str, List[Workspace]]:
        """Return all workspaces by name; a name may exist in several resource groups.

        `server` is the address of a team server.
        """
        session = _connect(server)
        found: Dict[str, List[Workspace]] = {}
        for view in _search(session, None, subscription_id, resource_group):
            found.setdefault(view.name, []).append(Workspace._of(session, view))
        return found

    def write_config(self, path: Optional[str] = None, file_name: Optional[str] = None) -> str:
        """Write the file that `from_config` reads, and return its path."""
        return config.workspace_file.write(path, file_name, self._as_config())

    # ── identity ──

    @property
    def id(self) -> str:
        return self._view.id

    @property
    def name(self) -> str:
        return self._view.name

    @property
    def subscription_id(self) -> str:
        return self._view.subscription_id

    @property
    def resource_group(self) -> str:
        return self._view.resource_group

    @property
    def location(self) -> str:
        return self._view.location

    # Private in Azure's class too, but existing scripts read them.
    _workspace_id = id
    _workspace_name = name
    _subscription_id = subscription_id
    _resource_group = resource_group

    @property
    def sku(self) -> str:
        return "basic"

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        return dict(self._view.tags)

    @property
    def discovery_url(self) -> str:
        return self.session.endpoint

    def get_details(self) -> Dict[str, Any]:
        view = self._view
        return {
            "id": config.workspace_file.scope(self._as_config()),
            "name": view.name,
            "location": view.location,
            "type": "Microsoft.MachineLearningServices/workspaces",
            "tags": dict(view.tags),
            "sku": "Basic",
            "workspaceid": view.id,
            "friendlyName": view.friendly_name or view.name,
            "creationTime": utc_text(view.created),
            "discoveryUrl": self.discovery_url,
            "storageAccount": None,
            "keyVault": None,
            "applicationInsights": None,
            "containerRegistry": None,
            "resourceGroup": view.resource_group,
            "subscriptionId": view.subscription_id,
        }

    def _as_config(self) -> WorkspaceConfig:
        view = self._view
        server = self.session.server
        return config.workspace_file.WorkspaceConfig(view.subscription_id, view.resource_group, view.name, server)

    # ── what is in it: listed again on each access ──

    @property
    def experiments(self) -> Dict[str, Experiment]:
        return {each.name: each for each in Experiment.list(self)}

    @property
    def compute_targets(self) -> Dict[str, ComputeTarget]:
        return {each.name: each for each in compute.targets.ComputeTarget.list(self)}

    @property
    def webservices(self) -> Dict[str, Webservice]:
        return {each.name: each for each in models.webservice.Webservice.list(self)}

    @property
    def models(self) -> Dict[str, Model]:
        """The latest version of each model."""
        return {each.name: each for each in models.model.Model.list(self, latest=True)}

    @property
    def environments(self) -> Dict[str, Environment]:
        return environments.environment.Environment.list(self)

    @property
    def datastores(self) -> Dict[str, AbstractDatastore]:
        return {each.name: each for each in data.datastore.list_datastores(self)}

    @property
    def datasets(self) -> Mapping[str, Any]:
        """The latest version of each dataset, fetched on access."""
        return data.dataset.Dataset.get_all(self)

    def get_default_datastore(self) -> AbstractDatastore:
        return data.datastore.Datastore.get_default(self)

    def set_default_datastore(self, name: str) -> None:
        data.datastore.Datastore.get(self, name).set_as_default()

    def get_run(self, run_id: str) -> Run:
        """Return the run with this id from any experiment, as an object of its own class."""
        return run_of_view(self, self.session.api.runs.get(run_id))

    def get_default_keyvault(self) -> Keyvault:
        return Keyvault(self)

    def get_default_compute_target(self, type: str) -> Optional[ComputeTarget]:
        """Return the cluster named cpu-cluster or gpu-cluster, or None."""
        if type not in _DEFAULT_COMPUTE:
            raise ValueError(f"type is {type!r}; use 'cpu' or 'gpu'")
        return self.compute_targets.get(_DEFAULT_COMPUTE[type])

    def __repr__(self) -> str:
        return (
            f"Workspace.create(name={self.name!r}, subscription_id={self.subscription_id!r}, "
            f"resource_group={self.resource_group!r})"
        )

    def _repr_html_(self) -> str:
        return notebooks.row({"Name": self.name, "Resource group": self.resource_group, "Location": self.location,
                              "Server": self.session.endpoint})  # fmt: skip


def open_workspace(session: Session, workspace_id: str) -> Workspace:
    """Return the workspace with this id, which is all that a job knows about its workspace."""
    view = session.api_for(_KINDS).workspaces.get(workspace_id)
    return Workspace._of(session, view)  # pyright: ignore[reportPrivateUsage]


def _in_a_job() -> bool:
    return bool(os.environ.get(environ.RUN_ID) and os.environ.get(environ.ENDPOINT))


def _connect(server: Optional[str] = None) -> Session:
    """Return the session; on its first use, ship the metrics that killed processes left behind."""
    session = open_session(server)
    if session not in _recovered and not _in_a_job():
        _recovered.add(session)
        runs.shipping.recover(session)
    return session


def _search(
    session: Session, name: Optional[str], subscription_id: Optional[str], resource_group: Optional[str]
) -> List[WorkspaceView]:
    found = session.api_for(_KINDS).workspaces.list(
        name=name, subscription_id=subscription_id, resource_group=resource_group
    )
    return list(found)


def _find(session: Session, name: str, subscription_id: Optional[str], resource_group: Optional[str]) -> WorkspaceView:
    found = _search(session, name, subscription_id, resource_group)
    if not found:
        raise WorkspaceException(f"there is no workspace {name!r}", hint=f"create it with: footplate init {name}")
    if len(found) > 1:
        groups = ", ".join(sorted(view.resource_group for view in found))
        raise UserErrorException(
            f"there are {len(found)} workspaces {name!r}, in the resource groups {groups}",
            hint="pass resource_group",
        )
    return found[0]


def _create(
    session: Session, wanted: WorkspaceConfig, if_exists: str, extra: Optional[Dict[str, Any]] = None
) -> WorkspaceView:
    return session.api_for(_KINDS).workspaces.create(
        wanted.workspace_name, wanted.subscription_id, wanted.resource_group, if_exists=if_exists, **(extra or {})
    )
