"""Datastores by what they are made of. All of them upload, download and hand themselves to runs in the same way."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, NoReturn, Optional, Sequence, Tuple, Union

from footplate.domain.datasets import DatastoreView
from footplate.sdk import blob_transfer
from footplate.sdk.data import worker_client
from footplate.sdk.data.references import DataReference
from footplate.sdk.data.store_access import store_spec
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.progress import bar

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace


class AbstractDatastore:
    """A place for data that a workspace knows by name."""

    kind = ""  # as a StoreSpec calls it
    datastore_type = "Custom"  # as Azure calls it

    def __init__(self, workspace: Workspace, view: DatastoreView) -> None:
        self.workspace = workspace
        self._view = view

    @property
    def name(self) -> str:
        return self._view.name

    @property
    def is_default(self) -> bool:
        return self._view.is_default

    def set_as_default(self) -> None:
        path = f"/workspaces/{self.workspace.id}/default-datastore"
        self.workspace.session.put(path, {"name": self.name})

    def unregister(self) -> None:
        """Forget it. What lies there stays."""
        self.workspace.session.delete(f"/workspaces/{self.workspace.id}/datastores/{self.name}")

    # ── bytes ──

    def upload(
        self, src_dir: str, target_path: Optional[str] = None, overwrite: bool = False, show_progress: bool = True
    ) -> DataReference:
        """Bring a folder here, below `target_path`. Files that are here already stay as they are unless `overwrite`."""
        folder = os.path.abspath(os.path.expanduser(os.fspath(src_dir)))
        if not os.path.isdir(folder):
            hint = "upload files with upload_files" if os.path.isfile(folder) else f"its whole path would be {folder}"
            raise UserErrorException(f"there is no folder {src_dir!r} to upload", hint=hint)
        self._upload(
            [(path, name) for name, path in blob_transfer.data_below(folder)], target_path, overwrite, show_progress
        )
        return self.path(target_path)

    def upload_files(
        self,
        files: Sequence[str],
        relative_root: Optional[str] = None,
        target_path: Optional[str] = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> DataReference:
        """Bring files here, named by their path below `relative_root`, else below what they have in common."""
        named = _named(files, relative_root)
        self._upload(named, target_path, overwrite, show_progress)
        return self.path(target_path)

    def download(
        self,
        target_path: str,
        prefix: Optional[str] = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> int:
        """Bring what is here, or what lies below `prefix`, to a folder, with its whole path; how many files came.

        Where no folder or file is called `prefix`, it is the beginning of names. Nothing at all is no error, but 0.
        """
        spec = store_spec(self.workspace, self.name)
        with tempfile.TemporaryDirectory(prefix="footplate-") as aside:
            listing = os.path.join(aside, "listing")
            wanted = {"store": spec, "label": self.name, "prefix": prefix or "", "target": listing}
            if worker_client.call("select", wanted)["count"] == 0:
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
        arguments = {
            "files": files,
            "store": store_spec(self.workspace, self.name),
            "folder": target or "",
            "overwrite": overwrite,
            "cache": worker_client.cache_folder(),
        }
        with bar(f"Uploading to {self.name}", show) as report:
            worker_client.call("upload", arguments, report)

    # ── for runs ──

    def path(self, path: Optional[str] = None, data_reference_name: Optional[str] = None) -> DataReference:
        return DataReference(self, data_reference_name, path)

    def as_mount(self) -> DataReference:
        return self.path().as_mount()

    def as_download(self, path_on_compute: Optional[str] = None) -> DataReference:
        return self.path().as_download(path_on_compute)

    def as_upload(self, path_on_compute: Optional[str] = None) -> DataReference:
        return self.path().as_upload(path_on_compute)

    def __deepcopy__(self, memo: Any) -> AbstractDatastore:
        """A handle to something that is one: a run configuration that is copied still names the same datastore."""
        return self

    def __repr__(self) -> str:
        place = ", ".join(f"{key}={value!r}" for key, value in self._view.location.items())
        return f"{type(self).__name__}(name={self.name!r}, {place})"


class _AzureDatastore(AbstractDatastore):
    @property
    def account_name(self) -> str:
        return str(self._view.location["account"])

    @property
    def container_name(self) -> str:
        """Of a file share: the name of the share."""
        return str(self._view.location.get("container") or self._view.location.get("share"))

    @property
    def endpoint(self) -> str:
        return str(self._view.location.get("endpoint") or "core.windows.net")

    @property
    def protocol(self) -> str:
        return "http" if self.endpoint.startswith("http:") else "https"

    def _credential(self, name: str) -> Optional[str]:
        """Fetched when it is asked for, and kept nowhere."""
        found: Dict[str, str] = store_spec(self.workspace, self.name)["credentials"]
        return found.get(name)

    @property
    def account_key(self) -> Optional[str]:
        return self._credential("key")

    @property
    def sas_token(self) -> Optional[str]:
        return self._credential("sas")


class AzureBlobDatastore(_AzureDatastore):
    kind = "azure_blob"
    datastore_type = "AzureBlob"


class AzureFileDatastore(_AzureDatastore):
    kind = "azure_file"
    datastore_type = "AzureFile"


class AzureDataLakeGen2Datastore(_AzureDatastore):
    kind = "adls_gen2"
    datastore_type = "AzureDataLakeGen2"

    @property
    def tenant_id(self) -> Optional[str]:
        return self._credential("tenant_id")

    @property
    def client_id(self) -> Optional[str]:
        return self._credential("client_id")

    @property
    def client_secret(self) -> Optional[str]:
        return self._credential("client_secret")


class FolderDatastore(AbstractDatastore):
    """A folder. The workspace's own two are folders of its home, and answer as the container that they stand for."""

    kind = "folder"

    @property
    def datastore_type(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "AzureFile" if self.name == "workspacefilestore" else "AzureBlob"

    @property
    def folder(self) -> str:
        return str(self._view.location["path"])

    @property
    def container_name(self) -> str:
        return os.path.basename(self.folder)

    @property
    def account_name(self) -> str:
        return self.workspace.name


class S3Datastore(AbstractDatastore):
    kind = "s3"
    datastore_type = "S3"

    @property
    def bucket(self) -> str:
        return str(self._view.location["bucket"])


class GcsDatastore(AbstractDatastore):
    kind = "gcs"
    datastore_type = "GCS"

    @property
    def bucket(self) -> str:
        return str(self._view.location["bucket"])


class SqlDatastore(AbstractDatastore):
    """A database: it has rows, which `Dataset.Tabular.from_sql_query` reads, and no files."""

    kind = "sql"

    @property
    def datastore_type(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        names = {"mssql": "AzureSqlDatabase", "postgresql": "AzurePostgreSql", "mysql": "AzureMySql"}
        return names.get(str(self._view.location["dialect"]), "Custom")

    @property
    def server_name(self) -> Optional[str]:
        return self._view.location.get("host")

    @property
    def database_name(self) -> str:
        return str(self._view.location["database"])

    def upload(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._no_files()

    def upload_files(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._no_files()

    def download(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._no_files()

    def path(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._no_files()

    def _no_files(self) -> UserErrorException:
        return UserErrorException(
            f"datastore {self.name!r} is a database, which has rows and no files",
            hint="read it with Dataset.Tabular.from_sql_query((datastore, 'SELECT …'))",
        )


class HttpDatastore(AbstractDatastore):
    kind = "http"
    datastore_type = "Http"

    @property
    def url(self) -> str:
        return str(self._view.location["url"])


def _named(files: Sequence[Union[str, Any]], relative_root: Optional[str]) -> List[Tuple[str, str]]:
    if isinstance(files, (str, os.PathLike)):
        raise UserErrorException(f"files is the path {files!r}", hint=f"give a list: files=[{files!r}]")
    paths = [os.path.abspath(os.fspath(path)) for path in files]
    missing = next((path for path in paths if not os.path.isfile(path)), None)
    if missing is not None:
        raise UserErrorException(f"there is no file {missing!r} to upload", hint="upload a folder with upload")
    if not paths:
        raise UserErrorException("there are no files to upload", hint="give at least one path")
    root = os.path.abspath(relative_root) if relative_root is not None else _common(paths)
    for path in paths:
        if os.path.commonpath([root, path]) != root:
            raise UserErrorException(
                f"{path!r} does not lie below relative_root {relative_root!r}", hint="give a folder above all the files"
            )
    return [(path, os.path.relpath(path, root).replace(os.sep, "/")) for path in paths]


def _common(paths: List[str]) -> str:
    return os.path.commonpath([os.path.dirname(path) for path in paths])
