"""A dataset as an input of a run: its name there, and how the script accesses it."""

from __future__ import annotations

import copy
import logging
import re
from typing import Any, Dict, Optional

from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.wrong_types import explained

_NAME = re.compile(r"[a-zA-Z_]+[a-zA-Z0-9_]*", re.ASCII)
_MODES = ("direct", "mount", "download")
_RISKY = ("path", "home", "user", "shell", "tmpdir", "lang", "pwd")
_log = logging.getLogger(__name__)


@explained
class DatasetConsumptionConfig:
    """A dataset as an input of a run: its name there, and how the script accesses it.

    Args:
        name: Letters, digits and `_`. The script finds it in `run.input_datasets`.
        dataset: A dataset, or (workspace, name[, version]), which is looked up at submission.
        mode: `direct`, `mount` or `download`.
        path_on_compute: The path on the node.

    Raises:
        UserErrorException: The name or the mode is not valid.

    Example:
        datastore = ws.get_default_datastore()
        datastore.upload("src", "code", show_progress=False)
        given = DatasetConsumptionConfig("code", Dataset.File.from_files((datastore, "code")))
        print(given.as_mount().mode, given.as_download("/tmp/code").mode, given.as_direct().to_definition())
    """

    def __init__(self, name: str, dataset: Any, mode: str = "direct", path_on_compute: Optional[str] = None) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(
                f"{name!r} is not a valid input name", hint="use letters, digits and '_', not beginning with a digit"
            )
        if name.lower() in _RISKY:
            _log.warning("the input name %r is also a variable that programs read; another name is safer", name)
        if str(mode).lower() not in _MODES:
            raise UserErrorException(f"mode is {mode!r}", hint=f"use one of {', '.join(_MODES)}")
        self.name = name
        self.dataset = dataset
        self.mode = str(mode).lower()
        self.path_on_compute = path_on_compute

    def as_mount(self, path_on_compute: Optional[str] = None) -> DatasetConsumptionConfig:
        """Show the files as a directory without copying them first.

        Args:
            path_on_compute: The path on the node.

        Returns:
            A changed copy.
        """
        return self._as("mount", path_on_compute)

    def as_download(self, path_on_compute: Optional[str] = None) -> DatasetConsumptionConfig:
        """Copy the files before the script starts.

        Args:
            path_on_compute: The path on the node.

        Returns:
            A changed copy.
        """
        return self._as("download", path_on_compute)

    def as_direct(self) -> DatasetConsumptionConfig:
        """Give the script the dataset object, not its files.

        Returns:
            A changed copy.
        """
        return self._as("direct", None)

    def _as(self, mode: str, path_on_compute: Optional[str]) -> DatasetConsumptionConfig:
        tabular = getattr(self.dataset, "kind", "file") == "tabular" or getattr(self.dataset, "table", None) is not None
        if mode != "direct" and tabular:
            raise UserErrorException(
                f"input {self.name!r} is a tabular dataset, which has no files to {mode}",
                hint="pass it without a mode: the script gets it from run.input_datasets",
            )
        changed = copy.copy(self)
        changed.mode, changed.path_on_compute = mode, path_on_compute
        return changed

    def to_definition(self) -> Dict[str, Any]:
        """Return the form shown by `get_details()['runDefinition']['data']`.

        Returns:
            A dict.
        """
        dataset = self.dataset
        identity = {"id": getattr(dataset, "id", None), "name": getattr(dataset, "name", None)}
        version = getattr(dataset, "version", None)
        return {
            "dataLocation": {"dataset": dict(identity, version=None if version is None else str(version))},
            "mechanism": self.mode.capitalize(),
            "environmentVariableName": self.name,
            "pathOnCompute": self.path_on_compute,
            "overwrite": False,
        }

    def __deepcopy__(self, memo: Any) -> DatasetConsumptionConfig:
        return copy.copy(self)

    def __repr__(self) -> str:
        return f"DatasetConsumptionConfig(name={self.name!r}, mode={self.mode!r}, dataset={self.dataset!r})"
