"""`Dataset`: creating, finding and listing datasets."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple, Type, Union

from footplate.domain.datasets import DatasetView, check_dataset_name
from footplate.domain.store_names import matches
from footplate.sdk.data import worker_client
from footplate.sdk.data.base import KINDS, AbstractDataset
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.paths import definition_of, sources
from footplate.sdk.data.store_access import stores_of, upload_files
from footplate.sdk.data.tabular_dataset import TabularDataset
from footplate.sdk.data.tabular_factory import TabularDatasetFactory
from footplate.sdk.exceptions import DatasetValidationError, UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.local_files import data_below
from footplate.sdk.values.wrong_types import explained


@explained
class FileDatasetFactory:
    """Creates file datasets, as `Dataset.File`.

    Example:
        datastore = ws.get_default_datastore()
        dataset = Dataset.File.upload_directory("src", (datastore, "code"), overwrite=True, show_progress=False)
        print(Dataset.File.from_files((datastore, "code/**/*.py")).to_path())
    """

    @staticmethod
    def from_files(
        path: Any, validate: bool = True, partition_format: Optional[str] = None, is_file: bool = False
    ) -> FileDataset:
        """Create a dataset of files.

        Args:
            path: URLs, (datastore, path), or lists of these; paths may contain `*`, `**` and `?`.
            validate: Whether to check that at least one file exists.
            partition_format: A format that turns parts of paths into columns, such as `{year}/{month}`.
            is_file: Whether the path is a single file, not a folder.

        Returns:
            The dataset.

        Raises:
            DatasetValidationError: No file exists.
            UserErrorException: A path is not valid.
        """
        definition, workspace = definition_of(path)
        if partition_format:
            definition["partition_format"] = partition_format
        if is_file:
            definition["is_file"] = True
        if validate:
            try:
                worker_client.call("peek", {"definition": definition, "stores": stores_of(workspace, definition)})
            except UserErrorException as error:
                raise DatasetValidationError(error.message, error, hint=error.hint) from error
        return FileDataset(definition, workspace)

    @staticmethod
    def upload_directory(
        src_dir: str, target: Any, pattern: Optional[str] = None, overwrite: bool = False, show_progress: bool = True
    ) -> FileDataset:
        """Upload a directory to a datastore, and make a dataset of it.

        Args:
            src_dir: The local directory.
            target: (datastore, path).
            pattern: Only files that match, such as `**/*.png`.
            overwrite: Whether to replace files that exist.
            show_progress: Whether to show a progress bar.

        Returns:
            The dataset.

        Raises:
            UserErrorException: The directory does not exist or has no such files, or `target` is not in a
                datastore.
        """
        ((source, datastore),) = list(sources(target))
        folder = os.path.abspath(os.path.expanduser(os.fspath(src_dir)))
        if datastore is None:
            raise UserErrorException(f"target is {target!r}", hint="give (datastore, 'path/on/datastore')")
        if not os.path.isdir(folder):
            raise UserErrorException(
                f"the folder {src_dir!r} does not exist", hint=f"its absolute path would be {folder}"
            )
        files = data_below(folder, lambda name: not pattern or matches(pattern, name))
        if not files:
            matching = f" that match {pattern!r}" if pattern else ""
            raise UserErrorException(f"{src_dir!r} has no files{matching}", hint="a dataset has at least one file")
        cache = worker_client.cache_folder()
        upload_files(datastore.workspace, datastore.name, files, source["path"], overwrite, show_progress, cache=cache)
        return FileDataset({"sources": [source]}, datastore.workspace)


@explained
class Dataset:
    """Creates datasets with `Dataset.File` and `Dataset.Tabular`, and finds them by name or id.

    Example:
        datastore = ws.get_default_datastore()
        datastore.upload("src", "code", show_progress=False)
        dataset = Dataset.File.from_files((datastore, "code")).register(ws, "sources", create_new_version=True)
        print(Dataset.get_by_name(ws, "sources").version, Dataset.get_by_id(ws, dataset.id).name)
        print(Dataset.get(ws, name="sources").id, list(Dataset.get_all(ws)))
    """

    File = FileDatasetFactory
    Tabular = TabularDatasetFactory

    @staticmethod
    def get_by_name(workspace: Workspace, name: str, version: Union[int, str] = "latest") -> Any:
        """Return a registered dataset.

        Args:
            workspace: The workspace.
            name: The name.
            version: The version, or `latest`.

        Returns:
            A FileDataset or TabularDataset.

        Raises:
            UserErrorException: There is no such dataset or version.
        """
        with worker_client.translating_errors():
            check_dataset_name(name)
        requested = "latest" if version in (None, "latest") else version
        return dataset_of(workspace, workspace.session.api_for(KINDS).datasets.get(workspace.id, name, requested))

    @staticmethod
    def get(workspace: Workspace, name: Optional[str] = None, id: Optional[str] = None) -> Any:
        """Return a dataset by name or id: Azure's earlier form of `get_by_name` and `get_by_id`.

        Args:
            workspace: The workspace.
            name: The name.
            id: The id.

        Returns:
            A FileDataset or TabularDataset.

        Raises:
            UserErrorException: There is no such dataset, or neither name nor id was given.
        """
        if name is None and id is None:
            raise UserErrorException("Dataset.get needs a name or id", hint="list all with Dataset.get_all(workspace)")
        return Dataset.get_by_id(workspace, id) if id is not None else Dataset.get_by_name(workspace, str(name))

    @staticmethod
    def get_by_id(workspace: Workspace, id: str, **kwargs: Any) -> Any:
        """Return the dataset with an id.

        Args:
            workspace: The workspace.
            id: The id.
            **kwargs: Accepted for Azure's private options, and ignored.

        Returns:
            A FileDataset or TabularDataset.

        Raises:
            UserErrorException: There is no such dataset.
        """
        return dataset_of(workspace, workspace.session.api_for(KINDS).datasets.by_id(workspace.id, id))

    @staticmethod
    def get_all(workspace: Workspace) -> Mapping[str, Any]:
        """Return the latest version of each dataset.

        Args:
            workspace: The workspace.

        Returns:
            A mapping by name. A lookup requests one dataset, without listing the others.
        """
        return Datasets(workspace)


class Datasets(Mapping[str, Any]):
    """The registered datasets of a workspace. A lookup requests one by name, without listing the others."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __getitem__(self, name: str) -> Any:
        try:
            return Dataset.get_by_name(self._workspace, name)
        except UserErrorException:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        views = self._workspace.session.api.datasets.list(self._workspace.id, latest=True)
        return iter(sorted(view.name for view in views if view.name is not None))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return f"{{{', '.join(repr(name) for name in self)}}}"


CLASSES: Dict[str, Type[AbstractDataset]] = {"file": FileDataset, "tabular": TabularDataset}


def dataset_of(workspace: Workspace, view: DatasetView) -> Any:
    """Return the dataset as an object of its class."""
    if view.kind not in CLASSES:
        raise UserErrorException(
            f"dataset {view.name or view.id!r} is {view.kind}, a kind that this version cannot read"
        )
    return CLASSES[view.kind](view.definition, workspace, view)


def tuple_dataset(given: Tuple[Any, ...]) -> Any:
    """Look up (workspace, name) or (workspace, name, version)."""
    workspace, name, *version = given
    return Dataset.get_by_name(workspace, name, version[0] if version else "latest")
