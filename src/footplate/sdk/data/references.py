"""References to paths in datastores, as inputs of runs: `datastore.path('mnist').as_mount()`."""

from __future__ import annotations

import copy
import os
import re
from typing import TYPE_CHECKING, Any, Dict, Optional

from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.checked_attributes import to_camel
from footplate.sdk.values.run_configuration_sections import DataReferenceConfiguration
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.data.datastore_kinds import AbstractDatastore

PREFIX = "AZUREML_DATAREFERENCE_"
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
_MODES = ("mount", "download", "upload")


@explained
class DataReference:
    """A path of a datastore for a run. `str(reference)` is the variable that holds its path there.

    Args:
        datastore: The datastore.
        data_reference_name: The name in the run; by default that of the datastore, or a random one.
        path_on_datastore: The path; the whole datastore by default.
        mode: `mount`, `download` or `upload`.
        path_on_compute: The path on the node.
        overwrite: Whether files that exist are replaced.

    Raises:
        UserErrorException: The datastore, the mode or the name is not valid.

    Example:
        reference = DataReference(ws.get_default_datastore(), "images", "cats")
        print(reference.path("small").as_mount(), reference.as_download(), reference.as_upload("/tmp/results"))
        print(reference.to_config().mode, reference.to_definition())
        config = ScriptRunConfig("src", "train.py", arguments=["--data", reference])
    """

    def __init__(
        self,
        datastore: AbstractDatastore,
        data_reference_name: Optional[str] = None,
        path_on_datastore: Optional[str] = None,
        mode: str = "mount",
        path_on_compute: Optional[str] = None,
        overwrite: bool = False,
    ) -> None:
        if not hasattr(datastore, "datastore_type"):
            raise UserErrorException(
                f"datastore is {datastore!r}", hint="give the object: Datastore.get(workspace, 'workspaceblobstore')"
            )
        if mode not in _MODES:
            raise UserErrorException(f"mode is {mode!r}", hint=f"use one of {', '.join(_MODES)}")
        self.datastore = datastore
        self.path_on_datastore = path_on_datastore
        self.data_reference_name = _check_name(data_reference_name) or _auto_name(datastore, path_on_datastore)
        self.mode = mode
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite

    @staticmethod
    def create(
        data_reference_name: Optional[str] = None,
        datapath: Optional[DataPath] = None,
        datapath_compute_binding: Optional[DataPathComputeBinding] = None,
    ) -> DataReference:
        """Combine a path with the way in which it appears on the node.

        Args:
            data_reference_name: The name in the run.
            datapath: The path. It is required, as on Azure.
            datapath_compute_binding: The way. It is required, as on Azure.

        Returns:
            The reference.

        Raises:
            ValueError: The path or the way is missing.

        Example:
            path = DataPath(ws.get_default_datastore(), "cats")
            reference = DataReference.create("images", path, DataPathComputeBinding("download"))
        """
        if datapath is None or datapath_compute_binding is None:
            values = f"datapath is {datapath!r} and datapath_compute_binding is {datapath_compute_binding!r}"
            raise ValueError(f"{values}\nhint: both are required")
        return datapath.create_data_reference(data_reference_name, datapath_compute_binding)

    def path(self, path: Optional[str] = None, data_reference_name: Optional[str] = None) -> DataReference:
        """Return a path below this one.

        Args:
            path: The relative path.
            data_reference_name: The name in the run.

        Returns:
            A new reference.
        """
        below = "/".join(part.strip("/") for part in (self.path_on_datastore, path) if part and part.strip("/"))
        return DataReference(
            self.datastore, data_reference_name, below or None, self.mode, self.path_on_compute, self.overwrite
        )

    def as_mount(self) -> DataReference:
        """Show the files as a directory without copying them first.

        Returns:
            A changed copy.
        """
        return self._as("mount", None, False)

    def as_download(self, path_on_compute: Optional[str] = None, overwrite: bool = False) -> DataReference:
        """Copy the files before the script starts.

        Args:
            path_on_compute: The path on the node.
            overwrite: Whether files that exist are replaced.

        Returns:
            A changed copy.
        """
        return self._as("download", path_on_compute, overwrite)

    def as_upload(self, path_on_compute: Optional[str] = None, overwrite: bool = False) -> DataReference:
        """Upload the files of a directory when the run has ended.

        Args:
            path_on_compute: The directory on the node.
            overwrite: Whether files that exist are replaced.

        Returns:
            A changed copy.
        """
        return self._as("upload", path_on_compute, overwrite)

    def _as(self, mode: str, path_on_compute: Optional[str], overwrite: bool) -> DataReference:
        changed = copy.copy(self)
        changed.mode, changed.path_on_compute, changed.overwrite = mode, path_on_compute, overwrite
        return changed

    def to_config(self) -> DataReferenceConfiguration:
        """Return the reference for `run_config.data_references`.

        Returns:
            The configuration.
        """
        return DataReferenceConfiguration(
            self.datastore.name, self.mode, self.path_on_datastore, self.path_on_compute, self.overwrite
        )

    def to_definition(self) -> Dict[str, Any]:
        """Return the form shown by `get_details()['runDefinition']['dataReferences']`.

        Returns:
            A dict.
        """
        return to_camel(self.to_config())

    def __str__(self) -> str:
        return f"${PREFIX}{self.data_reference_name}"

    def __repr__(self) -> str:
        return f"DataReference({self.datastore.name!r}, {self.path_on_datastore!r}, mode={self.mode!r})"

    def __deepcopy__(self, memo: Any) -> DataReference:
        """Share the workspace: a submitted run configuration is copied, but the connection must not be."""
        return copy.copy(self)


@explained
class DataPath:
    """A path in a datastore, from which datasets and references can be created.

    Args:
        datastore: The datastore.
        path_on_datastore: The path; the whole datastore by default.
        name: The name of references to it.

    Example:
        path = DataPath(ws.get_default_datastore(), "cats", name="images")
        reference = path.create_data_reference()
        print(DataPath.create_from_data_reference(reference).path_on_datastore)
    """

    def __init__(
        self, datastore: Any = None, path_on_datastore: Optional[str] = None, name: Optional[str] = None
    ) -> None:
        self.datastore = datastore
        self.path_on_datastore = path_on_datastore
        self.name = name

    @property
    def datastore_name(self) -> Optional[str]:
        """The name of the datastore."""
        return getattr(self.datastore, "name", self.datastore)

    @staticmethod
    def create_from_data_reference(data_reference: DataReference) -> DataPath:
        """Return the path of a reference.

        Args:
            data_reference: The reference.

        Returns:
            The path.
        """
        return DataPath(data_reference.datastore, data_reference.path_on_datastore, data_reference.data_reference_name)

    def create_data_reference(
        self,
        data_reference_name: Optional[str] = None,
        datapath_compute_binding: Optional[DataPathComputeBinding] = None,
    ) -> DataReference:
        """Return a reference to the path.

        Args:
            data_reference_name: The name in the run; the name of the path by default.
            datapath_compute_binding: The way in which it appears on the node; mounted by default.

        Returns:
            The reference.
        """
        binding = datapath_compute_binding or DataPathComputeBinding()
        return DataReference(
            self.datastore, data_reference_name or self.name, self.path_on_datastore,
            binding.mode, binding.path_on_compute, binding.overwrite,
        )  # fmt: skip


@explained
class DataPathComputeBinding:
    """How a DataPath appears on the node.

    Args:
        mode: `mount`, `download` or `upload`.
        path_on_compute: The path on the node.
        overwrite: Whether files that exist are replaced.

    Example:
        binding = DataPathComputeBinding(mode="download", path_on_compute="/tmp/cats")
        reference = binding.create_data_reference("images", DataPath(ws.get_default_datastore(), "cats"))
        print(DataPathComputeBinding.create_from_data_reference(reference).mode)
    """

    def __init__(self, mode: str = "mount", path_on_compute: Optional[str] = None, overwrite: bool = False) -> None:
        self.mode = mode
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite

    @staticmethod
    def create_from_data_reference(data_reference: DataReference) -> DataPathComputeBinding:
        """Return the way in which a reference appears on the node.

        Args:
            data_reference: The reference.

        Returns:
            The binding.
        """
        return DataPathComputeBinding(data_reference.mode, data_reference.path_on_compute, data_reference.overwrite)

    def create_data_reference(
        self, data_reference_name: Optional[str] = None, datapath: Optional[DataPath] = None
    ) -> DataReference:
        """Return a reference to a path that appears in this way.

        Args:
            data_reference_name: The name in the run.
            datapath: The path.

        Returns:
            The reference.

        Raises:
            ValueError: The path is missing.
        """
        return DataReference.create(data_reference_name, datapath, self)


def _check_name(name: Optional[str]) -> Optional[str]:
    if name is not None and not _NAME.fullmatch(name):
        raise UserErrorException(
            f"data_reference_name is {name!r}", hint="use letters, digits and '_', not beginning with a digit"
        )
    return name


def _auto_name(datastore: AbstractDatastore, path: Optional[str]) -> str:
    """Return the datastore's name for the whole of it, or a unique name for a path below."""
    if path in (None, "", "/"):
        name = re.sub(r"\W", "_", datastore.name, flags=re.ASCII)
        return name if _NAME.fullmatch(name) else f"_{name}"
    return "r" + os.urandom(16).hex()
