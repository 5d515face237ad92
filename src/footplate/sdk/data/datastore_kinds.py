"""Datastore classes by kind. All upload, download and become inputs of runs in the same way."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, NoReturn, Optional, Sequence, Tuple, Type

from footplate.domain.datasets import DatastoreView
from footplate.sdk.data import worker_client
from footplate.sdk.data.references import DataReference
from footplate.sdk.data.store_access import store_spec, upload_files
from footplate.sdk.display.status_line import bar
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.local_files import data_below, named_files
from footplate.sdk.values.wrong_types import explained

_OF_AN_ACCOUNT = (
    "account_key", "account_name", "client_id", "client_secret", "container_name", "endpoint", "protocol", "sas_token",
    "tenant_id",
)  # fmt: skip
_WITHOUT_ADDRESSES = (
    "do not build an address: datastore.path('…').as_mount() passes files to a run, datastore.download('…') copies them"
)


@explained
class AbstractDatastore:
    """A place for data that a workspace knows by name.

    Args:
        workspace: The workspace.
        view: The datastore as the server describes it.

    Example:
        datastore = ws.get_default_datastore()
        datastore.upload("src", target_path="code", overwrite=True, show_progress=False)
        datastore.upload_files(["src/train.py"], target_path="single", overwrite=True, show_progress=False)
        print(datastore.download("downloads", prefix="code", overwrite=True, show_progress=False))
        print(datastore.path("code").as_mount(), datastore.as_mount(), datastore.as_download(), datastore.as_upload())
        datastore.set_as_default()
    """

    kind = ""  # the kind in a StoreSpec
    datastore_type = "Custom"  # Azure's name of the kind

    def __init__(self, workspace: Workspace, view: DatastoreView) -> None:
        self.workspace = workspace
        self._view = view

    @property
    def name(self) -> str:
        """The name, unique in the workspace."""
        return self._view.name

    @property
    def is_default(self) -> bool:
        """Whether it was the default datastore when it was read."""
        return self._view.is_default

    def set_as_default(self) -> None:
        """Make it the default datastore of the workspace."""
        self.workspace.session.api.datastores.set_default(self.workspace.id, self.name)

    def unregister(self) -> None:
        """Remove the datastore from the workspace. Its data stays.

        Example:
            Datastore.register_folder(ws, "temporary", "src").unregister()
        """
        self.workspace.session.api.datastores.delete(self.workspace.id, self.name)

    # ── bytes ──

    def upload(
        self, src_dir: str, target_path: Optional[str] = None, overwrite: bool = False, show_progress: bool = True
    ) -> DataReference:
        """Upload a directory.

        Args:
            src_dir: The local directory.
            target_path: The path in the datastore.
            overwrite: Whether to replace files that exist; otherwise they are kept.
            show_progress: Whether to show a progress bar.

        Returns:
            A reference to the path.

        Raises:
            UserErrorException: The directory does not exist.
        """
        folder = os.path.abspath(os.path.expanduser(os.fspath(src_dir)))
        if not os.path.isdir(folder):
            hint = (
                "upload files with upload_files" if os.path.isfile(folder) else f"its absolute path would be {folder}"
            )
            raise UserErrorException(f"the folder {src_dir!r} does not exist", hint=hint)
        self._upload(data_below(folder), target_path, overwrite, show_progress)
        return self.path(target_path)

    def upload_files(
        self,
        files: Sequence[str],
        relative_root: Optional[str] = None,
        target_path: Optional[str] = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> DataReference:
        """Upload files.

        Args:
            files: The local files.
            relative_root: The directory that names are relative to; by default the common one of all files.
            target_path: The path in the datastore.
            overwrite: Whether to replace files that exist; otherwise they are kept.
            show_progress: Whether to show a progress bar.

        Returns:
            A reference to the path.

        Raises:
            UserErrorException: A file does not exist.
        """
        self._upload(named_files(files, relative_root), target_path, overwrite, show_progress)
        return self.path(target_path)

    def download(
        self, target_path: str, prefix: Optional[str] = None, overwrite: bool = False, show_progress: bool = True
    ) -> int:
        """Download files with their whole path. Finding none is not an error.

        Args:
            target_path: The local directory.
            prefix: A folder or file; if there is none of this name, a prefix of names.
            overwrite: Whether to replace files that exist; otherwise they are kept.
            show_progress: Whether to show a progress bar.

        Returns:
            The number of files.
        """
        spec = store_spec(self.workspace, self.name)
        with tempfile.TemporaryDirectory(prefix="footplate-") as aside:
            listing = os.path.join(aside, "listing")
            selection = {"store": spec, "label": self.name, "prefix": prefix or "", "target": listing}
            if worker_client.call("select", selection)["count"] == 0:
                return 0
            arguments = {
                "listing": listing,
                "stores": {self.name: spec},
                "target": os.path.abspath(target_path),
                "overwrite": "replace" if overwrite else "skip",
            }
            with bar(f"Downloading from {self.name}", show_progress) as report:
                return len(worker_client.call("download", arguments, report))

    def _upload(self, files: List[Tuple[str, str]], target: Optional[str], overwrite: bool, show: bool) -> None:
        cache = worker_client.cache_folder()
        upload_files(self.workspace, self.name, files, target or "", overwrite, show, cache=cache)

    # ── for runs ──

    def path(self, path: Optional[str] = None, data_reference_name: Optional[str] = None) -> DataReference:
        """Make a path of the datastore an input or output of a run.

        Args:
            path: The path; the whole datastore by default.
            data_reference_name: The name of the reference in the run.

        Returns:
            The reference.

        Raises:
            UserErrorException: The name is not valid.
        """
        return DataReference(self, data_reference_name, path)

    def as_mount(self) -> DataReference:
        """Make the whole datastore an input of a run, mounted.

        Returns:
            The reference.
        """
        return self.path().as_mount()

    def as_download(self, path_on_compute: Optional[str] = None) -> DataReference:
        """Make the whole datastore an input of a run, copied before the script starts.

        Args:
            path_on_compute: The path on the node.

        Returns:
            The reference.
        """
        return self.path().as_download(path_on_compute)

    def as_upload(self, path_on_compute: Optional[str] = None) -> DataReference:
        """Make the datastore an output of a run, uploaded when the run has ended.

        Args:
            path_on_compute: The path on the node.

        Returns:
            The reference.
        """
        return self.path().as_upload(path_on_compute)

    def __deepcopy__(self, memo: Any) -> AbstractDatastore:
        """Return the same handle: a copied run configuration still refers to the same datastore."""
        return self

    if not TYPE_CHECKING:  # a type checker knows the attributes better

        def __getattr__(self, name: str) -> NoReturn:
            """Raise an AttributeError, with a hint for the properties of an Azure storage account."""
            words = f"{type(self).__name__} has no attribute {name!r}"
            if name in _OF_AN_ACCOUNT:
                words += f": datastore {self.name!r} is not an Azure storage account\nhint: {_WITHOUT_ADDRESSES}"
            raise AttributeError(words)

    def __repr__(self) -> str:
        place = ", ".join(f"{key}={value!r}" for key, value in self._view.location.items())
        return f"{type(self).__name__}(name={self.name!r}, {place})"


def _location(key: str) -> Any:
    """Return a property that reads a part of the datastore's location."""
    return property(lambda self: str(self._view.location[key]))


class _AzureDatastore(AbstractDatastore):
    @property
    def account_name(self) -> str:
        """The storage account."""
        return str(self._view.location["account"])

    @property
    def container_name(self) -> str:
        """The container; for a file share, the share."""
        return str(self._view.location.get("container") or self._view.location.get("share"))

    @property
    def endpoint(self) -> str:
        """The host suffix, or the whole address of another server."""
        return str(self._view.location.get("endpoint") or "core.windows.net")

    @property
    def protocol(self) -> str:
        """`https` or `http`."""
        return "http" if self.endpoint.startswith("http:") else "https"

    def _credential(self, name: str) -> Optional[str]:
        """Fetch a credential, without keeping it."""
        credentials: Dict[str, str] = store_spec(self.workspace, self.name)["credentials"]
        return credentials.get(name)

    @property
    def account_key(self) -> Optional[str]:
        """The key of the account, fetched on access; None if there is none."""
        return self._credential("key")

    @property
    def sas_token(self) -> Optional[str]:
        """The shared access signature, fetched on access; None if there is none."""
        return self._credential("sas")


class AzureBlobDatastore(_AzureDatastore):
    """A container of Azure Blob Storage, from `Datastore.register_azure_blob_container`.

    Example:
        images = Datastore.register_azure_blob_container(
            ws, "blobs", "images", "contoso", account_key="a2V5", skip_validation=True
        )
        print(images.account_name, images.container_name)
    """

    kind = "azure_blob"
    datastore_type = "AzureBlob"


class AzureFileDatastore(_AzureDatastore):
    """An Azure Files share, from `Datastore.register_azure_file_share`.

    Example:
        share = Datastore.register_azure_file_share(ws, "files", "share", "contoso", account_key="a2V5")
        print(share.container_name)
    """

    kind = "azure_file"
    datastore_type = "AzureFile"


class AzureDataLakeGen2Datastore(_AzureDatastore):
    """A file system of Azure Data Lake Storage Gen2, from `Datastore.register_azure_data_lake_gen2`.

    Example:
        lake = Datastore.register_azure_data_lake_gen2(
            ws, "gen2", "raw", "contoso", tenant_id="tenant", client_id="client", client_secret="s3cr3t"
        )
        print(lake.tenant_id)
    """

    kind = "adls_gen2"
    datastore_type = "AzureDataLakeGen2"

    @property
    def tenant_id(self) -> Optional[str]:
        """The tenant of the service principal, fetched on access."""
        return self._credential("tenant_id")

    @property
    def client_id(self) -> Optional[str]:
        """The id of the service principal, fetched on access."""
        return self._credential("client_id")

    @property
    def client_secret(self) -> Optional[str]:
        """The secret of the service principal, fetched on access."""
        return self._credential("client_secret")


class FolderDatastore(AbstractDatastore):
    """A folder. The two built-in datastores are folders that present themselves as the containers they replace."""

    kind = "folder"

    @property
    def datastore_type(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "AzureFile" if self.name == "workspacefilestore" else "AzureBlob"

    folder: str = _location("path")

    @property
    def container_name(self) -> str:
        return os.path.basename(self.folder)

    @property
    def account_name(self) -> str:
        return self.workspace.name


class S3Datastore(AbstractDatastore):
    kind = "s3"
    datastore_type = "S3"
    bucket: str = _location("bucket")


class GcsDatastore(AbstractDatastore):
    kind = "gcs"
    datastore_type = "GCS"
    bucket: str = _location("bucket")


class SqlDatastore(AbstractDatastore):
    """A database. It has rows, which `Dataset.Tabular.from_sql_query` reads, and no files."""

    kind = "sql"

    @property
    def datastore_type(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        names = {"mssql": "AzureSqlDatabase", "postgresql": "AzurePostgreSql", "mysql": "AzureMySql"}
        return names.get(str(self._view.location["dialect"]), "Custom")

    @property
    def server_name(self) -> Optional[str]:
        return self._view.location.get("host")

    database_name: str = _location("database")

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise UserErrorException(
            f"datastore {self.name!r} is a database, which has rows, not files",
            hint="read it with Dataset.Tabular.from_sql_query((datastore, 'SELECT …'))",
        )

    upload = upload_files = download = path = _refuse


class HttpDatastore(AbstractDatastore):
    kind = "http"
    datastore_type = "Http"
    url: str = _location("url")


CLASSES: Dict[str, Type[AbstractDatastore]] = {
    cls.kind: cls
    for cls in (
        AzureBlobDatastore,
        AzureFileDatastore,
        AzureDataLakeGen2Datastore,
        FolderDatastore,
        S3Datastore,
        GcsDatastore,
        HttpDatastore,
        SqlDatastore,
    )
}
