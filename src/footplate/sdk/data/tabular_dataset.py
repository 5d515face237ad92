"""Tabular datasets: a definition of rows and columns, which are read on demand."""

from __future__ import annotations

import importlib
import io
import os
import urllib.request
import uuid
import warnings
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from footplate.content.frames import Frame, read_frame
from footplate.sdk.data import worker_client
from footplate.sdk.data.dataframe import libraries, to_pandas
from footplate.sdk.data.datastore import Datastore
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.paths import definition_of
from footplate.sdk.data.profile_config import ProfileConfig
from footplate.sdk.data.store_access import upload_files
from footplate.sdk.data.table_steps import TableSteps
from footplate.sdk.display import notebooks
from footplate.sdk.exceptions import AzureMLException, DatasetExecutionError, Kinds, UserErrorException
from footplate.sdk.handles import ExperimentHandle as Experiment
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.session import translating
from footplate.sdk.values.warn import warn_without_effect, without_effect
from footplate.sdk.values.wrong_types import abbreviate, explained

_REFUSALS = ("invalid", "not_found", "not_allowed", "conflict", "unavailable")
_EXECUTION: Kinds = dict.fromkeys(_REFUSALS, DatasetExecutionError)
_PREVIEW_ROWS = 10


@explained
class TabularDataset(TableSteps):
    r"""A table, created with `Dataset.Tabular`. Selecting rows or columns reads nothing: it returns a new dataset.

    Example:
        with open("people.csv", "w") as file:
            file.write("name,age,born\nAda,36,1815-12-10\nGrace,85,1906-12-09\n")
        datastore = ws.get_default_datastore()
        datastore.upload_files(["people.csv"], target_path="people", overwrite=True, show_progress=False)
        table = Dataset.Tabular.from_delimited_files((datastore, "people/people.csv"))
        print(table.take(1).to_pandas_dataframe(), table.get_profile())
        old = table.filter(table["age"] > 40).skip(0).keep_columns(["name", "born"]).drop_columns("born")
        train, test = table.random_split(0.8, seed=1)
        sample = table.take_sample(0.5, seed=1)
        print(table.to_csv_files().to_path(), table.to_parquet_files().to_path())
    """

    kind = "tabular"

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def to_pandas_dataframe(self, on_error: str = "null", out_of_range_datetime: str = "null") -> Any:
        """Read all rows. A timestamp column also becomes the index.

        Args:
            on_error: `null` turns a value that does not fit its column's type into null, with a warning;
                `fail` makes it an error.
            out_of_range_datetime: The same for a time that pandas' `datetime64[ns]` cannot hold.

        Returns:
            A DataFrame.

        Raises:
            UserErrorException: An option is unknown, or pandas is not installed.
            DatasetExecutionError: The data cannot be read.
        """
        for name, value in (("on_error", on_error), ("out_of_range_datetime", out_of_range_datetime)):
            if value not in ("null", "fail"):
                raise UserErrorException(f"{name} is {value!r}", hint="use 'null' or 'fail'")
        libraries()  # a missing library is reported before everything is read
        frame, messages = self._read(strict=on_error == "fail")
        for each in messages:
            warnings.warn(each, UserWarning, stacklevel=2)
        dataframe = to_pandas(frame, out_of_range_datetime)
        self._record_read()
        timestamp = self.timestamp_columns[0]
        if timestamp is not None and timestamp not in dataframe.columns:
            raise DatasetExecutionError(
                f"the column {timestamp!r} of with_timestamp_columns does not exist",
                hint=f"the columns are {', '.join(map(repr, dataframe.columns))}",
            )
        return dataframe if timestamp is None else dataframe.set_index(timestamp, drop=False).rename_axis(None)

    def _repr_html_(self) -> str:
        """Return the description and the first rows; if they cannot be read, the reason takes their place."""
        try:
            frame, _ = self.take(_PREVIEW_ROWS)._read(strict=False)
        except (AzureMLException, OSError) as error:
            return super()._repr_html_() + notebooks.row({"Rows": error})
        return super()._repr_html_() + to_pandas(frame, "null").to_html()

    def _read(self, strict: bool) -> Tuple[Frame, List[str]]:
        with self._temporary_directory() as aside:
            if worker_client.worker_command() is not None:
                target = os.path.join(aside, "frame")
                answer = self._call_worker("write_frame", aside, strict=strict, target=target)
                # Memory-mapped, so it stays readable after the file is deleted.
                return read_frame(target), answer["warnings"]
            with translating(_EXECUTION):
                frame, messages = worker_client.import_worker().tables().read(strict=strict, **self._arguments(aside))
            return frame, messages

    def to_csv_files(self, separator: str = ",") -> FileDataset:
        """Write the rows as CSV files to the default datastore now.

        Args:
            separator: The separator of columns.

        Returns:
            A file dataset, which can be mounted.

        Raises:
            UserErrorException: The dataset has no workspace.
            DatasetExecutionError: The data cannot be read.
        """
        if len(separator) != 1:
            raise UserErrorException(f"separator is {abbreviate(separator)}", hint="give a single character")
        return self._write_to_default_datastore("csv", separator=separator)

    def to_parquet_files(self) -> FileDataset:
        """Write the rows as Parquet files to the default datastore now.

        Returns:
            A file dataset, which can be mounted.

        Raises:
            UserErrorException: The dataset has no workspace.
            DatasetExecutionError: The data cannot be read.
        """
        return self._write_to_default_datastore("parquet")

    def _write_to_default_datastore(self, form: str, **options: Any) -> FileDataset:
        if self._workspace is None:
            raise UserErrorException(
                "the workspace for the files is unknown",
                hint="register the dataset first: dataset = dataset.register(workspace, name)",
            )
        datastore = Datastore.get_default(self._workspace)
        folder = f"tables/{self.fingerprint()[:16]}-{uuid.uuid4().hex[:8]}"
        with self._temporary_directory() as aside:
            target = os.path.join(aside, "files")
            answer = self._call_worker("write_files", aside, target=target, form=form, **options)
            for each in answer["warnings"]:
                warnings.warn(each, UserWarning, stacklevel=3)
            files = [(os.path.join(target, name), name) for name in answer["files"]]
            upload_files(self._workspace, datastore.name, files, folder)
        self._record_read()
        return FileDataset({"sources": [{"datastore": datastore.name, "path": folder}]}, self._workspace)

    def get_profile(self, workspace: Any = None, compute_target: Any = None) -> Dict[str, Any]:
        """Return the number of rows, and count, missing values, extremes, mean and deviation of each column.

        Args:
            workspace, compute_target: Accepted and ignored: this process reads the data.

        Returns:
            A dict.

        Raises:
            DatasetExecutionError: The data cannot be read.
        """
        with self._temporary_directory() as aside:
            profile = self._call_worker("profile", aside)
        self._record_read()
        return profile

    def submit_profile_run(
        self, compute_target: Any, experiment: Experiment, cache_datastore_name: Optional[str] = None
    ) -> Any:
        """Submit a run that computes the profile on a compute target, where the data may be nearer.

        Args:
            compute_target: The compute target or its name; `local` is the server's machine.
            experiment: The experiment of the run.
            cache_datastore_name: Accepted and ignored: the profile is a file of the run.

        Returns:
            The DatasetProfileRun; its `get_profile()` returns the profile.

        Example:
            def profile(table: TabularDataset, experiment: Experiment) -> None:
                print(table.submit_profile_run("local", experiment).get_profile())
        """
        warn_without_effect(
            without_effect("the profile is a file of the run", cache_datastore_name=cache_datastore_name)
        )
        return experiment.submit(ProfileConfig(self, compute_target))

    def to_torchvision(self) -> Any:
        """Return the labeled images of the columns `image_url` and `label` as a dataset for PyTorch.

        Returns:
            A dataset with `__len__` and `__getitem__`, which returns an image and its label.

        Raises:
            UserErrorException: The columns are missing.

        Example:
            def load(table: TabularDataset) -> None:
                image, label = table.to_torchvision()[0]
        """
        return open_labeled_images(self, self._workspace)

    def to_spark_dataframe(self) -> NoReturn:
        """Raise an error: Footplate has no Spark.

        Raises:
            UserErrorException: Always; use `to_parquet_files`.

        Example:
            def load(table: TabularDataset) -> None:
                table.to_parquet_files()  # not table.to_spark_dataframe()
        """
        raise UserErrorException(
            "Footplate has no Spark", hint="use to_parquet_files and read them with spark.read.parquet"
        )

    def mount(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: a table has rows, not files.

        Args:
            *args, **kwargs: Ignored.

        Raises:
            UserErrorException: Always; use `to_csv_files` or `to_parquet_files`.

        Example:
            def load(table: TabularDataset) -> None:
                table.to_csv_files()  # not table.mount()
        """
        raise _no_files("mount")

    def download(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: a table has rows, not files.

        Args:
            *args, **kwargs: Ignored.

        Raises:
            UserErrorException: Always; use `to_csv_files` or `to_parquet_files`.

        Example:
            def load(table: TabularDataset) -> None:
                table.to_csv_files().download("rows")  # not table.download()
        """
        raise _no_files("download")

    def as_mount(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: a table has rows, not files.

        Args:
            *args, **kwargs: Ignored.

        Raises:
            UserErrorException: Always; use `as_named_input`.

        Example:
            def given(table: TabularDataset) -> None:
                table.as_named_input("people")  # not table.as_mount()
        """
        raise _no_files("mount")

    def as_download(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: a table has rows, not files.

        Args:
            *args, **kwargs: Ignored.

        Raises:
            UserErrorException: Always; use `as_named_input`.

        Example:
            def given(table: TabularDataset) -> None:
                table.as_named_input("people")  # not table.as_download()
        """
        raise _no_files("download")


def _no_files(operation: str) -> UserErrorException:
    return UserErrorException(
        f"a tabular dataset has rows, not files to {operation}",
        hint="use to_pandas_dataframe, or write files: dataset.to_csv_files() or to_parquet_files()",
    )


IMAGE, LABEL = "image_url", "label"
_DATASTORE = "amldatastore://"


def open_labeled_images(table: TabularDataset, workspace: Optional[Workspace]) -> Any:
    """Return a torch Dataset of (image tensor, label) pairs; Azure's exports call the columns image_url and label.

    An image is the path of a file, an address, or AmlDatastore://<datastore>/<path>.
    """
    torch_data, to_tensor = _libraries()
    frame = table.to_pandas_dataframe().reset_index(drop=True)
    missing = [column for column in (IMAGE, LABEL) if column not in frame]
    if missing:
        raise UserErrorException(
            f"the table has no column {missing[0]!r}: {', '.join(map(str, frame.columns))}",
            hint="to_torchvision reads labeled images: the columns image_url and label",
        )
    pairs: List[Tuple[str, Any]] = list(zip(frame[IMAGE].tolist(), frame[LABEL].tolist()))
    base: Any = torch_data.Dataset

    class LabeledImages(base):
        def __len__(self) -> int:
            return len(pairs)

        def __getitem__(self, index: int) -> Tuple[Any, Any]:
            address, label = pairs[index]
            return to_tensor(_content(workspace, str(address))), label

    return LabeledImages()


def _libraries() -> Tuple[Any, Any]:
    try:
        torch, image = importlib.import_module("torch"), importlib.import_module("PIL.Image")
        data, numpy = importlib.import_module("torch.utils.data"), importlib.import_module("numpy")
    except ImportError as error:
        raise UserErrorException(
            f"to_torchvision needs a package that is not installed: {error}", hint="pip install torch pillow numpy"
        ) from error

    def to_tensor(content: bytes) -> Any:
        """Return the pixels as torchvision does: channels first, from 0 to 1."""
        pixels = numpy.asarray(image.open(io.BytesIO(content)).convert("RGB"), dtype=numpy.float32) / 255
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy())

    return data, to_tensor


def _content(workspace: Optional[Workspace], address: str) -> bytes:
    if address.lower().startswith(("http://", "https://")):
        with urllib.request.urlopen(address) as reply:
            return reply.read()
    if address.lower().startswith(_DATASTORE):
        address = _download(workspace, address[len(_DATASTORE) :])
    with open(address, "rb") as file:
        return file.read()


def _download(workspace: Optional[Workspace], place: str) -> str:
    name, _, path = place.partition("/")
    if workspace is None:
        raise UserErrorException(f"the workspace of datastore {name!r} is not known", hint="register the dataset first")
    definition, _ = definition_of((Datastore.get(workspace, name), path))
    (file,) = FileDataset(definition, workspace).download()
    return file
