"""Folders that a run writes, and that become datasets of the workspace."""

from __future__ import annotations

import copy
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from footplate.domain import tables
from footplate.domain.datasets import check_dataset_name, written_definition
from footplate.domain.orders import OUTPUT_PATH, DataOutput, Registration
from footplate.sdk.data.base import INVALID
from footplate.sdk.data.column_types import PromoteHeadersBehavior, header_term, types_to_json
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.data.references import DataPath
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import translating
from footplate.sdk.values.labels import texts
from footplate.sdk.values.wrong_types import explained

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
C = TypeVar("C", bound="OutputFileDatasetConfig")


@explained
class OutputFileDatasetConfig:
    """A directory that a run writes, and that becomes a dataset. Every method returns a changed copy.

    Among the arguments of a script it becomes the path to write to.

    Args:
        name: The name of the output: letters, digits and `_`. By default it is random.
        destination: (datastore, path), in which `{run-id}` and `{output-name}` are replaced; by default
            `dataset/{run-id}/{output-name}` on the default datastore.
        source: The path on the node.
        partition_format: A format that turns parts of paths into columns.

    Raises:
        UserErrorException: The name or the destination is not valid.

    Example:
        output = OutputFileDatasetConfig("prepared").as_upload(overwrite=True)
        output = output.register_on_complete("prepared", tags={"stage": "clean"})
        print(output.as_mount().mode, output.to_definition(), output.to_output("workspaceblobstore").path)
        table = output.read_delimited_files(separator=";")
        config = ScriptRunConfig("src", "train.py", arguments=["--output", output])
    """

    def __init__(
        self,
        name: Optional[str] = None,
        destination: Any = None,
        source: Optional[str] = None,
        partition_format: Optional[str] = None,
    ) -> None:
        if name is not None and not _NAME.fullmatch(name):
            raise UserErrorException(
                f"{name!r} is not a valid output name", hint="use letters, digits and '_', not beginning with a digit"
            )
        self.name = name or f"output_{os.urandom(4).hex()}"
        self.destination = _destination(destination)
        self.source = source
        self.partition_format = partition_format
        self.mode = "mount"
        self._globs: Tuple[str, ...] = ()
        self._overwrite = False
        self._registration: Optional[Registration] = None
        self.table: Optional[Dict[str, Any]] = None
        self._runs: List[str] = []  # shared by all copies: the runs that were submitted with it
        self.writers: List[Any] = []  # shared by all copies: the steps of pipelines that write it

    def as_mount(self: C, disable_metadata_cache: bool = False) -> C:
        """Upload files while the run writes them; they are kept even if the run fails.

        Args:
            disable_metadata_cache: Accepted and ignored.

        Returns:
            A changed copy.
        """
        return self._copy(mode="mount")

    def as_upload(self: C, overwrite: bool = False, source_globs: Union[str, Sequence[str], None] = None) -> C:
        """Upload the files once the script has succeeded.

        Args:
            overwrite: Whether to replace files that exist.
            source_globs: Only files that match one of these patterns.

        Returns:
            A changed copy.
        """
        globs = (source_globs,) if isinstance(source_globs, str) else tuple(source_globs or ())
        return self._copy(mode="upload", _overwrite=overwrite, _globs=globs)

    def register_on_complete(
        self: C, name: str, description: Optional[str] = None, tags: Optional[Mapping[str, Any]] = None
    ) -> C:
        """Register the output as the next version of a dataset when the run has completed.

        Args:
            name: The name of the dataset.
            description: A text about the dataset.
            tags: Tags of the version.

        Returns:
            A changed copy.

        Raises:
            UserErrorException: The name is not valid.
        """
        with translating(INVALID):
            check_dataset_name(name)
        return self._copy(_registration=Registration(name, description, texts(tags or {})))

    def as_input(self, name: Optional[str] = None) -> DatasetConsumptionConfig:
        """Make the output of the last run submitted with it the input of another run: its files, or its table.

        Args:
            name: The name of the input; that of the output by default.

        Returns:
            The input.

        Example:
            output = OutputFileDatasetConfig("prepared")
            first = ScriptRunConfig("src", "train.py", arguments=["--output", output])
            experiment.submit(first).wait_for_completion()
            second = ScriptRunConfig("src", "train.py", arguments=["--data", output.as_input("data")])
        """
        return DatasetConsumptionConfig(name or self.name, self, "mount" if self.table is None else "direct")

    def read_delimited_files(
        self,
        include_path: bool = False,
        separator: str = ",",
        header: Any = PromoteHeadersBehavior.ALL_FILES_HAVE_SAME_HEADERS,
        partition_format: Optional[str] = None,
        path_glob: Optional[str] = None,
        set_column_types: Optional[Mapping[str, Any]] = None,
    ) -> OutputTabularDatasetConfig:
        """Make the output a table of the delimited files that the run writes.

        Args:
            include_path: Whether the table has a column `Path`.
            separator: The separator of columns.
            header: How headers are read: True, False or a PromoteHeadersBehavior.
            partition_format: A format that turns parts of paths into columns.
            path_glob: Only files that match.
            set_column_types: Types by column.

        Returns:
            The output as a table.

        Raises:
            UserErrorException: The header or a type is not valid.
        """
        form: Dict[str, Any] = {"kind": "delimited", "separator": separator, "header": header_term(header)}
        form.update(encoding="utf8", empty_as_string=False, infer_types=True)
        return self._table(form, include_path, partition_format, path_glob, set_column_types)

    def read_parquet_files(
        self,
        include_path: bool = False,
        partition_format: Optional[str] = None,
        path_glob: Optional[str] = None,
        set_column_types: Optional[Mapping[str, Any]] = None,
    ) -> OutputTabularDatasetConfig:
        """Make the output a table of the Parquet files that the run writes.

        Args:
            include_path: Whether the table has a column `Path`.
            partition_format: A format that turns parts of paths into columns.
            path_glob: Only files that match.
            set_column_types: Types by column.

        Returns:
            The output as a table.

        Raises:
            UserErrorException: A type is not valid.

        Example:
            table = OutputFileDatasetConfig("features").read_parquet_files(path_glob="**/*.parquet")
        """
        return self._table({"kind": "parquet"}, include_path, partition_format, path_glob, set_column_types)

    def _table(
        self,
        form: Dict[str, Any],
        include_path: bool,
        partition_format: Optional[str],
        path_glob: Optional[str],
        types: Optional[Mapping[str, Any]],
    ) -> OutputTabularDatasetConfig:
        if include_path:
            form["path_column"] = True
        if partition_format or self.partition_format:
            form["partition_format"] = partition_format or self.partition_format
        table: Dict[str, Any] = {"format": form, "types": types_to_json(types)}
        if path_glob:
            table["glob"] = path_glob.strip("/")
        output = OutputTabularDatasetConfig.__new__(OutputTabularDatasetConfig)
        vars(output).update(vars(self), table=table)  # a copy that shares the list of runs
        return output

    def _copy(self: C, **changes: Any) -> C:
        output = copy.copy(self)
        for name, value in changes.items():
            setattr(output, name, value)
        return output

    # ── for submission ──

    def to_output(self, default_datastore: str) -> DataOutput:
        """Return the output as the server takes it.

        Args:
            default_datastore: The datastore of outputs without a destination.

        Returns:
            The specification.
        """
        datastore, path = self.destination
        return DataOutput(
            self.name,
            datastore or default_datastore,
            path or OUTPUT_PATH,
            self.mode,
            self.source,
            self._globs,
            self._overwrite,
            register=self._registration,
            table=self.table,
        )

    @property
    def last_run(self) -> Optional[str]:
        """The id of the last run that was submitted with it."""
        return self._runs[-1] if self._runs else None

    def submitted_with(self, run_id: str) -> None:
        """Remember a run that was submitted with the output. `experiment.submit` calls it.

        Args:
            run_id: The id of the run.

        Example:
            output = OutputFileDatasetConfig("prepared")
            output.submitted_with(run.id)
            print(output.last_run, output.written("workspaceblobstore"))
        """
        self._runs.append(run_id)

    def written(self, default_datastore: str) -> Dict[str, Any]:
        """Return the definition of a dataset of the last run's output.

        Args:
            default_datastore: The datastore of outputs without a destination.

        Returns:
            The definition as plain data.

        Raises:
            UserErrorException: No run has written the output.

        Example:
            output = OutputFileDatasetConfig("prepared")
            output.submitted_with(run.id)
            print(output.written("workspaceblobstore"))
        """
        output = self.to_output(default_datastore)
        if self.last_run is None and "{run-id}" in output.path:
            raise UserErrorException(
                f"output {self.name!r} has not been written by any run",
                hint="submit the run that writes it first, with this same object",
            )
        return written_definition(output, self.last_run or "")

    def to_definition(self) -> Dict[str, Any]:
        """Return the form shown by `get_details()['runDefinition']['outputData']`.

        Returns:
            A dict.
        """
        datastore, path = self.destination
        registration = self._registration
        return {
            "outputLocation": {"dataPath": {"datastoreName": datastore, "relativePath": path or OUTPUT_PATH}},
            "mechanism": self.mode.capitalize(),
            "additionalOptions": {
                "pathOnCompute": self.source,
                "registrationOptions": None
                if registration is None
                else {"name": registration.name, "description": registration.description, "tags": registration.tags},
                "uploadOptions": {"overwrite": self._overwrite, "sourceGlobs": {"globPatterns": list(self._globs)}},
            },
            "environmentVariableName": None,
        }

    def __deepcopy__(self: C, memo: Any) -> C:
        return copy.copy(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, mode={self.mode!r}, destination={self.destination!r})"


@explained
class OutputTabularDatasetConfig(OutputFileDatasetConfig):
    """An output whose files form a table, from `read_delimited_files` or `read_parquet_files`.

    The script writes files as before; the registered dataset, or the next run's input, is tabular.

    Example:
        table = OutputFileDatasetConfig("features").read_delimited_files()
        table = table.keep_columns(["age", "income"]).drop_columns("income")
        print(table.as_input("features").mode)
    """

    def keep_columns(self, columns: Union[str, Sequence[str]]) -> OutputTabularDatasetConfig:
        """Keep only these columns.

        Args:
            columns: One name, or several.

        Returns:
            A changed copy.

        Raises:
            UserErrorException: No column was given.
        """
        with translating(INVALID):
            return self._with(tables.keep(columns))

    def drop_columns(self, columns: Union[str, Sequence[str]]) -> OutputTabularDatasetConfig:
        """Leave out these columns.

        Args:
            columns: One name, or several.

        Returns:
            A changed copy.

        Raises:
            UserErrorException: No column was given.
        """
        with translating(INVALID):
            return self._with(tables.drop(columns))

    def _with(self, step: Dict[str, Any]) -> OutputTabularDatasetConfig:
        table = dict(self.table or {})
        return self._copy(table=dict(table, steps=[*(table.get("steps") or ()), step]))


def _destination(given: Any) -> Tuple[Optional[str], Optional[str]]:
    """Return the datastore's name and the path, each None if not given."""
    if given is None:
        return None, None
    if isinstance(given, AbstractDatastore):
        return given.name, None
    if isinstance(given, DataPath):
        return given.datastore_name, given.path_on_datastore
    if isinstance(given, tuple) and 1 <= len(given) <= 2:  # pyright: ignore[reportUnknownArgumentType]
        datastore: Any = given[0]  # pyright: ignore[reportUnknownVariableType]
        path: Any = given[1] if len(given) == 2 else None  # pyright: ignore
        if isinstance(datastore, AbstractDatastore) and isinstance(path, (str, type(None))):
            return datastore.name, path
    raise UserErrorException(f"destination is {given!r}", hint="give (datastore, 'path/on/datastore')")
