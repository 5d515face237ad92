"""A workspace: the namespace of experiments, runs, models, computes, environments and data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from footplate.lazy import Deferred
from footplate.sdk.cloud_workspace import CloudWorkspace
from footplate.sdk.compute.default_cluster import DefaultCluster
from footplate.sdk.config import workspace_lookup as lookup
from footplate.sdk.display import notebooks
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.experiment import Experiment, run_of_view
from footplate.sdk.handles import WorkspaceHandle
from footplate.sdk.keyvault import Keyvault
from footplate.sdk.session import Session, is_in_job
from footplate.sdk.values.timestamps import utc_text
from footplate.sdk.values.warn import warn_without_effect, without_effect
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.domain import azure_variables
    from footplate.domain.records import WorkspaceView
    from footplate.sdk.compute import targets
    from footplate.sdk.compute.configurations import AmlComputeProvisioningConfiguration
    from footplate.sdk.compute.targets import ComputeTarget
    from footplate.sdk.config import workspace_file
    from footplate.sdk.data import dataset, datastore, registration
    from footplate.sdk.data.datastore_kinds import AbstractDatastore
    from footplate.sdk.environments import environment
    from footplate.sdk.environments.environment import Environment
    from footplate.sdk.models import model, webservice
    from footplate.sdk.models.model import Model
    from footplate.sdk.models.webservice import Webservice
    from footplate.sdk.run import Run
else:
    # Scripts wait for this module, and use few of these.
    azure_variables = Deferred("footplate.domain.azure_variables")
    targets = Deferred("footplate.sdk.compute.targets")
    workspace_file = Deferred("footplate.sdk.config.workspace_file")
    dataset = Deferred("footplate.sdk.data.dataset")
    datastore = Deferred("footplate.sdk.data.datastore")
    registration = Deferred("footplate.sdk.data.registration")
    environment = Deferred("footplate.sdk.environments.environment")
    model = Deferred("footplate.sdk.models.model")
    webservice = Deferred("footplate.sdk.models.webservice")

_DEFAULT_COMPUTE = {"cpu": "cpu-cluster", "gpu": "gpu-cluster"}


@explained
class Workspace(CloudWorkspace, WorkspaceHandle):
    """The namespace of experiments, runs, models, computes, environments and data.

    Constructing it finds an existing workspace; scripts usually call `Workspace.from_config()`.

    Args:
        subscription_id: The subscription in the workspace's file; `local` unless it came from Azure.
        resource_group: The resource group in the workspace's file.
        workspace_name: The name.
        auth: Accepted and ignored; a team server reads the token of FOOTPLATE_TOKEN.
        sku: Accepted and ignored.
        tags: Accepted and ignored.

    Raises:
        WorkspaceException: There is no such workspace.

    Example:
        ws = Workspace.from_config()
        print(ws.name, ws.get_details()["creationTime"], list(ws.experiments))
        print(ws.get_default_datastore().name, ws.get_default_keyvault().list_secrets())
        ws.set_default_datastore(ws.get_default_datastore().name)
    """

    DEFAULT_CPU_CLUSTER_CONFIGURATION = DefaultCluster("STANDARD_DS2_V2")
    DEFAULT_GPU_CLUSTER_CONFIGURATION = DefaultCluster("STANDARD_NC6")

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
        session = lookup.connect()
        WorkspaceHandle.__init__(self, session, lookup.find(session, workspace_name, subscription_id, resource_group))

    @classmethod
    def from_view(cls, session: Session, view: WorkspaceView) -> Workspace:
        """Return a workspace without a request."""
        workspace = object.__new__(cls)
        WorkspaceHandle.__init__(workspace, session, view)
        return workspace

    # ── finding and making ──

    @staticmethod
    def from_config(
        path: Optional[str] = None, auth: Any = None, _logger: Any = None, _file_name: Optional[str] = None
    ) -> Workspace:
        """Return the workspace that the nearest configuration file names; create it on first use.

        The search goes up from the current directory, through `.azureml/config.json` and `config.json`. A
        file downloaded from Azure works unchanged: it names a workspace of this machine. A job ignores the
        team server in the file of its snapshot and uses the connection of its run.

        Args:
            path: The file, or the directory where the search begins.
            auth: Accepted and ignored; a team server reads the token of FOOTPLATE_TOKEN.

        Returns:
            The workspace.

        Raises:
            UserErrorException: There is no configuration file, or it is not valid.

        Example:
            ws = Workspace.from_config()
        """
        named = workspace_file.read(workspace_file.find(path, _file_name))
        session = lookup.connect(None if is_in_job() else named.server)
        views = lookup.search(session, named.workspace_name, named.subscription_id, named.resource_group)
        return Workspace.from_view(session, views[0] if views else lookup.create(session, named, if_exists="return"))

    @staticmethod
    def setup() -> Workspace:
        """Return the workspace of this directory; if it has none, create one named after the directory.

        Returns:
            The workspace.

        Example:
            ws = Workspace.setup()
        """
        try:
            return Workspace.from_config()
        except UserErrorException:
            workspace = Workspace.create(workspace_file.name_for(os.getcwd()), exist_ok=True, show_output=False)
            workspace.write_config()
            return workspace

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
        """Return an existing workspace.

        Args:
            name: The name.
            auth: Accepted and ignored; a team server reads the token of FOOTPLATE_TOKEN.
            subscription_id: Only a workspace of this subscription.
            resource_group: Only a workspace of this resource group.
            location, cloud, id: Accepted and ignored.
            server: The address of a team server.

        Returns:
            The workspace.

        Raises:
            WorkspaceException: There is no such workspace.
            UserErrorException: Several resource groups have a workspace with this name.

        Example:
            same = Workspace.get(ws.name, resource_group=ws.resource_group)
        """
        session = lookup.connect(server)
        return Workspace.from_view(session, lookup.find(session, name, subscription_id, resource_group))

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
        """Create a workspace.

        Args:
            name: The name.
            auth: Accepted and ignored; a team server reads the token of FOOTPLATE_TOKEN.
            subscription_id: A label that tells workspaces with one name apart; `local` by default.
            resource_group: A second label; `local` by default.
            location: A text for `ws.location`.
            tags: Tags of the workspace.
            friendly_name: A name for display.
            default_cpu_compute_target: Sizes of a cluster `cpu-cluster` to create.
            default_gpu_compute_target: Sizes of a cluster `gpu-cluster` to create.
            exist_ok: Whether to return a workspace that exists instead of raising.
            show_output: Whether to print a line.
            server: The address of a team server.
            create_resource_group, sku, storage_account, key_vault, app_insights, container_registry:
                Without effect, which a warning says: Footplate uses no Azure resources.
            adb_workspace, primary_user_assigned_identity, cmk_keyvault, resource_cmk_uri: As above.
            hbi_workspace, private_endpoint_config, private_endpoint_auto_approval: As above.
            **cloud_resources: Other resources of Azure, as above.

        Returns:
            The workspace.

        Raises:
            WorkspaceException: It exists, and `exist_ok` is False.
            UserErrorException: The name is not valid.

        Example:
            team = Workspace.create("vision-team", exist_ok=True, tags={"owner": "ada"})
            team.write_config(path="elsewhere")
        """
        named = workspace_file.WorkspaceConfig(
            subscription_id or lookup.DEFAULT_LABEL, resource_group or lookup.DEFAULT_LABEL, name, server
        )
        warn_without_effect(
            without_effect(
                "the server keeps data, secrets and images itself", storage_account=storage_account,
                key_vault=key_vault, app_insights=app_insights, container_registry=container_registry,
                adb_workspace=adb_workspace, primary_user_assigned_identity=primary_user_assigned_identity,
                cmk_keyvault=cmk_keyvault, resource_cmk_uri=resource_cmk_uri, hbi_workspace=hbi_workspace,
                private_endpoint_config=private_endpoint_config, **cloud_resources,
            )
        )  # fmt: skip
        session = lookup.connect(server)
        labels = {str(key): str(value) for key, value in (tags or {}).items()}
        view = lookup.create(session, named, "return" if exist_ok else "refuse", labels, location, friendly_name)
        workspace = Workspace.from_view(session, view)
        for kind, sizes in (("cpu", default_cpu_compute_target), ("gpu", default_gpu_compute_target)):
            if sizes is not None and workspace.get_default_compute_target(kind) is None:
                targets.ComputeTarget.create(workspace, _DEFAULT_COMPUTE[kind], sizes)
        if show_output:
            print(f"Workspace {name} is ready.")
        return workspace

    @staticmethod
    def list(
        subscription_id: Optional[str] = None,
        auth: Any = None,
        resource_group: Optional[str] = None,
        *,
        server: Optional[str] = None,
    ) -> Dict[str, List[Workspace]]:
        """Return all workspaces of a server.

        Args:
            subscription_id: Only those of this subscription.
            auth: Accepted and ignored.
            resource_group: Only those of this resource group.
            server: The address of a team server.

        Returns:
            Lists of workspaces by name; a name may exist in several resource groups.

        Example:
            for name, found in Workspace.list().items():
                print(name, [each.resource_group for each in found])
        """
        session = lookup.connect(server)
        by_name: Dict[str, List[Workspace]] = {}
        for view in lookup.search(session, None, subscription_id, resource_group):
            by_name.setdefault(view.name, []).append(Workspace.from_view(session, view))
        return by_name

    def write_config(self, path: Optional[str] = None, file_name: Optional[str] = None) -> str:
        """Write the file that `from_config` reads.

        Args:
            path: The directory; the current one by default.
            file_name: The name of the file; `config.json` by default.

        Returns:
            The path of the file.

        Example:
            print(ws.write_config(path="elsewhere"))
        """
        return workspace_file.write(path, file_name, self._as_config())

    # ── identity ──

    @property
    def subscription_id(self) -> str:
        """The subscription that the workspace was created with; `local` by default."""
        return self.view.subscription_id

    @property
    def resource_group(self) -> str:
        """The resource group that the workspace was created with; `local` by default."""
        return self.view.resource_group

    # Private in Azure's class too, but existing scripts read them.
    _workspace_id = WorkspaceHandle.id
    _workspace_name = WorkspaceHandle.name
    _subscription_id = subscription_id
    _resource_group = resource_group

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        """The tags that the workspace was created with."""
        return dict(self.view.tags)

    @property
    def discovery_url(self) -> str:
        """The address of the server."""
        return self.session.endpoint

    def get_details(self) -> Dict[str, Any]:
        """Return the description of the workspace, in the form of Azure's SDK.

        Returns:
            A dict. The entries for Azure's resources, such as `storageAccount`, are None.
        """
        view = self.view
        return {
            "id": workspace_file.scope(self._as_config()),
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

    def _as_config(self) -> workspace_file.WorkspaceConfig:
        return workspace_file.WorkspaceConfig(self.subscription_id, self.resource_group, self.name, self.session.server)

    # ── what is in it: listed again on each access ──

    @property
    def experiments(self) -> Dict[str, Experiment]:
        """The active experiments, by name."""
        return {each.name: each for each in Experiment.list(self)}

    @property
    def compute_targets(self) -> Dict[str, ComputeTarget]:
        """The compute targets, by name."""
        return {each.name: each for each in targets.ComputeTarget.list(self)}

    @property
    def webservices(self) -> Dict[str, Webservice]:
        """The web services, by name."""
        return {each.name: each for each in webservice.Webservice.list(self)}

    @property
    def models(self) -> Dict[str, Model]:
        """The latest version of each model, by name."""
        return {each.name: each for each in model.Model.list(self, latest=True)}

    @property
    def environments(self) -> Dict[str, Environment]:
        """The newest version of each environment, by name."""
        return environment.Environment.list(self)

    @property
    def datastores(self) -> Dict[str, AbstractDatastore]:
        """The datastores, by name."""
        return {each.name: each for each in registration.list_datastores(self)}

    @property
    def datasets(self) -> Mapping[str, Any]:
        """The latest version of each dataset, by name, fetched on access."""
        return dataset.Dataset.get_all(self)

    def get_default_datastore(self) -> AbstractDatastore:
        """Return the default datastore: `workspaceblobstore` unless another was chosen.

        Returns:
            The datastore.
        """
        return datastore.Datastore.get_default(self)

    def set_default_datastore(self, name: str) -> None:
        """Make a datastore the default of the workspace.

        Args:
            name: The name of the datastore.

        Raises:
            UserErrorException: There is no such datastore.
        """
        datastore.Datastore.get(self, name).set_as_default()

    def get_run(self, run_id: str) -> Run:
        """Return the run with this id from any experiment, as an object of its own class.

        Args:
            run_id: The id of the run.

        Returns:
            The run.

        Raises:
            ServiceException: There is no run with this id.

        Example:
            same = ws.get_run(run.id)
        """
        return run_of_view(self, self.session.api.runs.get(run_id))

    def get_mlflow_tracking_uri(self, _with_auth: bool = False) -> str:
        """Return the address of the workspace for `mlflow.set_tracking_uri`.

        MLflow then keeps its runs, metrics, artifacts and models in the workspace. A submitted job has this
        address already. It holds no token: a team server gets the token of FOOTPLATE_TOKEN, as everywhere.

        Returns:
            An address that begins with `azureml://`.

        Example:
            print(ws.get_mlflow_tracking_uri())
        """
        names = (self.subscription_id, self.resource_group, self.name)
        return azure_variables.mlflow_tracking_uri(*names, self.session.endpoint, self.session.server)

    def get_default_keyvault(self) -> Keyvault:
        """Return the secrets of the workspace.

        Returns:
            The key vault.
        """
        return Keyvault(self)

    def get_default_compute_target(self, type: str) -> Optional[ComputeTarget]:
        """Return the cluster named `cpu-cluster` or `gpu-cluster`.

        Args:
            type: `cpu` or `gpu`, in any case.

        Returns:
            The cluster, or None if there is none.

        Raises:
            ValueError: `type` is something else.

        Example:
            print(ws.get_default_compute_target("cpu"))
        """
        name = _DEFAULT_COMPUTE.get(str(type).lower())
        if name is None:
            raise ValueError(f"type is {type!r}\nhint: use 'cpu' or 'gpu'")
        return self.compute_targets.get(name)

    def __repr__(self) -> str:
        labels = f"subscription_id={self.subscription_id!r}, resource_group={self.resource_group!r}"
        return f"Workspace.create(name={self.name!r}, {labels})"

    def _repr_html_(self) -> str:
        return notebooks.row({"Name": self.name, "Resource group": self.resource_group, "Location": self.location,
                              "Server": self.session.endpoint})  # fmt: skip


def open_workspace(session: Session, workspace_id: str) -> Workspace:
    """Return the workspace with this id, which is all that a job knows about its workspace."""
    view = session.api_for(lookup.KINDS).workspaces.get(workspace_id)
    return Workspace.from_view(session, view)
