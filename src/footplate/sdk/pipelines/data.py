"""What steps of a pipeline hand to each other, and the values that a pipeline is submitted with."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, Dict, Optional

from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.data.output_dataset import OutputFileDatasetConfig
from footplate.sdk.data.references import PREFIX, DataPath
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.pipelines.steps import PipelineStep

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
_WRITE_MODES = ("mount", "upload")


@explained
class PipelineParameter:
    """A value that can be chosen when a pipeline is submitted: `pipeline_parameters={"rate": 0.1}`.

    Args:
        name: The name of the parameter.
        default_value: The value that it has otherwise: a string, a number, a bool, a DataPath or a dataset.

    Raises:
        UserErrorException: The default value has another type.

    Example:
        rate = PipelineParameter("rate", default_value=0.1)
        step = PythonScriptStep("train.py", arguments=["--rate", rate], source_directory="src")
    """

    def __init__(self, name: str, default_value: Any) -> None:
        check_value(name, default_value)
        self.name = name
        self.default_value = default_value

    def __repr__(self) -> str:
        return f"PipelineParameter(name={self.name!r}, default_value={self.default_value!r})"


def check_value(name: str, value: Any) -> None:
    """Raise UserErrorException for a value that no parameter can have."""
    if not isinstance(value, (str, int, float, bool, DataPath)) and not hasattr(value, "as_named_input"):
        raise UserErrorException(
            f"the value of parameter {name!r} is {value!r:.100}",
            hint="give a string, a number, a bool, a DataPath or a dataset",
        )


@explained
class PipelineData:
    """A directory that one step writes and others read. The script gets its path as an argument.

    List it among the `outputs` of the step that writes it, and among the `inputs` of those that read it.

    Args:
        name: Letters, digits and `_`.
        datastore: The datastore; the default datastore of the pipeline or workspace by default.
        output_name: Another name for the output.
        output_mode: `mount` (kept also when the step fails) or `upload`.
        output_path_on_compute: The path on the node.
        output_overwrite: Whether files that exist are replaced.
        data_type: Accepted, and ignored.
        is_directory: Accepted, and ignored: an output is a directory.
        pipeline_output_name: The name by which `pipeline_run.get_pipeline_output` finds it.
        training_output: Refused: an output of a HyperDriveStep.
        **kwargs: Accepted for Azure's private options, and ignored.

    Raises:
        UserErrorException: The name or the mode is not valid.

    Example:
        prepared = PipelineData("prepared", datastore=ws.get_default_datastore())
        first = PythonScriptStep("prepare.py", arguments=["--to", prepared], outputs=[prepared], source_directory="src")
        second = PythonScriptStep("train.py", arguments=["--from", prepared], inputs=[prepared], source_directory="src")
        third = PythonScriptStep("test.py", arguments=[prepared.as_download()], source_directory="src")
        print(prepared.as_input("texts"), prepared.as_mount(), prepared.as_dataset())
        pipeline = Pipeline(ws, [second])
    """

    def __init__(
        self,
        name: str,
        datastore: Optional[AbstractDatastore] = None,
        output_name: Optional[str] = None,
        output_mode: str = "mount",
        output_path_on_compute: Optional[str] = None,
        output_overwrite: Optional[bool] = None,
        data_type: Optional[str] = None,
        is_directory: Optional[bool] = None,
        pipeline_output_name: Optional[str] = None,
        training_output: Any = None,
        **kwargs: Any,
    ) -> None:
        for each in (name, output_name or name):
            if not _NAME.fullmatch(each):
                raise UserErrorException(
                    f"{each!r} cannot name the output of a step",
                    hint="use letters, digits and '_', not beginning with a digit",
                )
        if output_mode not in _WRITE_MODES:
            raise UserErrorException(f"output_mode is {output_mode!r}", hint=f"use {' or '.join(_WRITE_MODES)}")
        if training_output is not None:
            raise UserErrorException(
                "Footplate has no training outputs of sweeps in pipelines",
                hint="read the best trial in the next step: HyperDriveRun(experiment, run_id)",
            )
        self.name = output_name or name
        self.data_reference_name = self.name
        self.datastore = datastore
        self.output_mode = output_mode
        self.output_path_on_compute = output_path_on_compute
        self.output_overwrite = bool(output_overwrite)
        self.pipeline_output_name = pipeline_output_name
        self.producer: Optional[PipelineStep] = None

    def as_dataset(self) -> PipelineOutputFileDataset:
        """Read the output as a dataset of files.

        Returns:
            The dataset, for `inputs` and `arguments` of a later step.
        """
        return PipelineOutputFileDataset(self)

    def as_input(self, name: Optional[str] = None) -> PipelineOutputFileDataset:
        """Read the output under another name.

        Args:
            name: The name of the input.

        Returns:
            The input.
        """
        return PipelineOutputFileDataset(self).as_named_input(name or self.name)

    def as_mount(self) -> PipelineOutputFileDataset:
        """Read the output without copying it first.

        Returns:
            The input.
        """
        return PipelineOutputFileDataset(self)

    def as_download(
        self, input_name: Optional[str] = None, path_on_compute: Optional[str] = None, overwrite: Any = None
    ) -> PipelineOutputFileDataset:
        """Read a copy of the output.

        Args:
            input_name: The name of the input.
            path_on_compute: The path on the node.
            overwrite: Accepted, and ignored: every run begins with an empty directory.

        Returns:
            The input.
        """
        return PipelineOutputFileDataset(self).as_named_input(input_name or self.name).as_download(path_on_compute)

    def __str__(self) -> str:
        return f"${PREFIX}{self.name}"

    def __repr__(self) -> str:
        return f"PipelineData({self.name!r})"


@explained
class PipelineOutputFileDataset:
    """The output of a step as a dataset of files, for a later step.

    Args:
        pipeline_data: The output.

    Example:
        prepared = PipelineData("prepared").as_dataset()
        print(prepared.as_named_input("data").as_download().mode, prepared.as_mount(), prepared.as_direct())
        print(prepared.parse_delimited_files().table, prepared.parse_parquet_files().table)
    """

    def __init__(self, pipeline_data: PipelineData) -> None:
        self.pipeline_data = pipeline_data
        self.name = pipeline_data.name
        self.mode = "mount"
        self.path_on_compute: Optional[str] = None
        self.table: Optional[Dict[str, Any]] = None

    def as_named_input(self, name: str) -> PipelineOutputFileDataset:
        """Give the input a name: the script finds it in `run.input_datasets[name]`.

        Args:
            name: Letters, digits and `_`.

        Returns:
            A changed copy.

        Raises:
            UserErrorException: The name is not valid.
        """
        if not _NAME.fullmatch(name):
            raise UserErrorException(f"{name!r} cannot name an input", hint="use letters, digits and '_'")
        return self._copy(name=name)

    def as_mount(self, path_on_compute: Optional[str] = None) -> PipelineOutputFileDataset:
        """Show the files as a directory without copying them first.

        Args:
            path_on_compute: The path on the node.

        Returns:
            A changed copy.
        """
        return self._copy(mode="mount", path_on_compute=path_on_compute)

    def as_download(self, path_on_compute: Optional[str] = None) -> PipelineOutputFileDataset:
        """Copy the files before the script starts.

        Args:
            path_on_compute: The path on the node.

        Returns:
            A changed copy.
        """
        return self._copy(mode="download", path_on_compute=path_on_compute)

    def as_direct(self) -> PipelineOutputFileDataset:
        """Give the script the dataset object, not its files.

        Returns:
            A changed copy.
        """
        return self._copy(mode="direct", path_on_compute=None)

    def parse_delimited_files(
        self,
        include_path: bool = False,
        separator: str = ",",
        header: Any = None,
        partition_format: Optional[str] = None,
        file_extension: str = "",
        set_column_types: Any = None,
    ) -> PipelineOutputFileDataset:
        """Read the output as a table of delimited files.

        Args:
            include_path: Whether the table has a column `Path`.
            separator: The separator of columns.
            header: How headers are read, as for `Dataset.Tabular.from_delimited_files`.
            partition_format: A format that turns parts of paths into columns.
            file_extension: Only files whose names end with this text.
            set_column_types: Types by column.

        Returns:
            A changed copy: the script gets a tabular dataset from `run.input_datasets`.
        """
        options = {} if header is None else {"header": header}
        output = OutputFileDatasetConfig(self.pipeline_data.name).read_delimited_files(
            include_path, separator, partition_format=partition_format, set_column_types=set_column_types,
            path_glob=f"**/*{file_extension}" if file_extension else None, **options,
        )  # fmt: skip
        return self._copy(table=output.table, mode="direct", path_on_compute=None)

    def parse_parquet_files(
        self,
        include_path: bool = False,
        partition_format: Optional[str] = None,
        file_extension: str = ".parquet",
        set_column_types: Any = None,
    ) -> PipelineOutputFileDataset:
        """Read the output as a table of Parquet files.

        Args:
            include_path: Whether the table has a column `Path`.
            partition_format: A format that turns parts of paths into columns.
            file_extension: Only files whose names end with this text.
            set_column_types: Types by column.

        Returns:
            A changed copy: the script gets a tabular dataset from `run.input_datasets`.
        """
        output = OutputFileDatasetConfig(self.pipeline_data.name).read_parquet_files(
            include_path, partition_format, f"**/*{file_extension}" if file_extension else None, set_column_types
        )
        return self._copy(table=output.table, mode="direct", path_on_compute=None)

    def _copy(self, **changes: Any) -> PipelineOutputFileDataset:
        changed = copy.copy(self)
        vars(changed).update(changes)
        return changed

    def __repr__(self) -> str:
        return f"PipelineOutputFileDataset({self.pipeline_data.name!r}, mode={self.mode!r})"
