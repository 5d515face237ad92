"""Tabular datasets: a definition of rows and columns, which are read on demand."""

from __future__ import annotations

import os
import random
import tempfile
import uuid
import warnings
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, ContextManager, Dict, List, NoReturn, Optional, Sequence, Tuple, Union

from footplate.domain.tables import tabular
from footplate.domain.tables.expressions import apply, literal
from footplate.domain.tables.frames import Frame, read_frame
from footplate.sdk.data import worker_client
from footplate.sdk.data.base import AbstractDataset
from footplate.sdk.data.dataframe import libraries, to_pandas
from footplate.sdk.data.datastore import Datastore
from footplate.sdk.data.expressions import Expression
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.profile_config import ProfileConfig
from footplate.sdk.data.store_access import store_spec
from footplate.sdk.display import notebooks
from footplate.sdk.exceptions import (
    AzureMLException,
    DatasetExecutionError,
    DatasetTimestampMissingError,
    Kinds,
    ServiceException,
    UserErrorException,
)
from footplate.sdk.session import translating
from footplate.sdk.values.warn import warn_without_effect, without_effect
from footplate.sdk.values.wrong_types import explained, shown

if TYPE_CHECKING:
    from footplate.sdk.handles import ExperimentHandle as Experiment

_REFUSALS = ("invalid", "not_found", "not_allowed", "conflict", "unavailable")
_EXECUTION: Kinds = dict.fromkeys(_REFUSALS, DatasetExecutionError)
_INVALID: Kinds = {"invalid": UserErrorException}
_PREVIEW_ROWS = 10
_PARTITION_LENGTHS = (
    ("ss", timedelta(seconds=1)),
    ("mm", timedelta(minutes=1)),
    ("HH", timedelta(hours=1)),
    ("dd", timedelta(days=1)),
    ("MM", timedelta(days=31)),
    ("yyyy", timedelta(days=366)),
)
"""How much later than its partition's time a row may be, by the finest time unit in the path."""


@explained
class TabularDataset(AbstractDataset):
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
        made = to_pandas(frame, out_of_range_datetime)
        self._record_read()
        timestamp = self.timestamp_columns[0]
        if timestamp is not None and timestamp not in made.columns:
            raise DatasetExecutionError(
                f"the column {timestamp!r} of with_timestamp_columns does not exist",
                hint=f"the columns are {', '.join(map(repr, made.columns))}",
            )
        return made if timestamp is None else made.set_index(timestamp, drop=False).rename_axis(None)

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
                return read_frame(target), answer[
                    "warnings"
                ]  # memory-mapped, so it stays readable after the file is deleted
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
            raise UserErrorException(f"separator is {shown(separator)}", hint="give a single character")
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
            store = store_spec(self._workspace, datastore.name)
            worker_client.call("upload", {"files": files, "store": store, "folder": folder, "overwrite": True})
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
            found = self._call_worker("profile", aside)
        self._record_read()
        return found

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
        from footplate.sdk.data.labeled_images import labeled_images  # noqa: PLC0415  # only tables of images need it

        return labeled_images(self, self._workspace)

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

    # ── choosing rows ─────────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, count: int) -> TabularDataset:
        """Keep the first rows.

        Args:
            count: How many.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: `count` is not a whole number of at least 0.
        """
        with translating(_INVALID):
            return self._with(tabular.take(count))

    def skip(self, count: int) -> TabularDataset:
        """Leave out the first rows.

        Args:
            count: How many.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: `count` is not a whole number of at least 0.
        """
        with translating(_INVALID):
            return self._with(tabular.skip(count))

    def take_sample(self, probability: float, seed: Optional[int] = None) -> TabularDataset:
        """Draw each row with a probability.

        Args:
            probability: From 0 to 1.
            seed: The seed; without one it is drawn now, so that every reading gives the same rows.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: A value is not valid.
        """
        with translating(_INVALID):
            return self._with(tabular.sample(probability, _seed(seed)))

    def random_split(self, percentage: float, seed: Optional[int] = None) -> Tuple[TabularDataset, TabularDataset]:
        """Split into two disjoint datasets.

        Args:
            percentage: The share of rows in the first dataset, from 0 to 1.
            seed: The seed; without one it is drawn now, so that every reading gives the same rows.

        Returns:
            Two new datasets.

        Raises:
            UserErrorException: A value is not valid.
        """
        drawn = _seed(seed)
        with translating(_INVALID):
            first, second = (tabular.split(percentage, drawn, first=part) for part in (True, False))
        return self._with(first), self._with(second)

    def filter(self, expression: Expression) -> TabularDataset:
        """Keep the rows that match an expression.

        Args:
            expression: A comparison of columns, such as `table["age"] > 30`; combine them with `&`, `|` and
                `~`.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: It is not an expression.
        """
        if not isinstance(expression, Expression):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(
                f"filter takes an expression, not {expression!r}", hint="ds.filter(ds['column'] > 3)"
            )
        return self._with(tabular.where(expression.data))

    def __getitem__(self, column: str) -> Expression:
        """Return a column, for `filter`."""
        if not isinstance(column, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(f"{column!r} is not a column name", hint="use text, as in ds['age']")
        return Expression({"field": column})

    # ── choosing columns ──────────────────────────────────────────────────────────────────────────────────────────────

    def keep_columns(self, columns: Union[str, Sequence[str]], validate: bool = False) -> TabularDataset:
        """Keep these columns, in this order. A timestamp column that is not among them loses its role.

        Args:
            columns: One name, or several.
            validate: Whether to check now that they exist.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: No column was given.
            DatasetExecutionError: A column does not exist, and `validate` is set.
        """
        with translating(_INVALID):
            step = tabular.keep(columns)
        lost = [name for name in self._timestamps().values() if name not in step["columns"]]
        made = self._with(step)._without_timestamps(lost)
        if validate:
            made._inspect(first_rows=True)
        return made

    def drop_columns(self, columns: Union[str, Sequence[str]]) -> TabularDataset:
        """Drop these columns. A timestamp column among them loses its role.

        Args:
            columns: One name, or several.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: No column was given.
        """
        with translating(_INVALID):
            step = tabular.drop(columns)
        return self._with(step)._without_timestamps(step["columns"])

    def _without_timestamps(self, lost: Sequence[str]) -> TabularDataset:
        kept = {role: name for role, name in self._timestamps().items() if name not in lost}
        return self._changed(timestamps=kept)

    # ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def timestamp_columns(self) -> Tuple[Optional[str], Optional[str]]:
        """The columns named by `with_timestamp_columns`: of the row, and of its partition."""
        named = self._timestamps()
        return named.get("fine"), named.get("coarse")

    def with_timestamp_columns(
        self,
        timestamp: Optional[str] = None,
        partition_timestamp: Optional[str] = None,
        validate: bool = False,
        *,
        fine_grain_timestamp: Optional[str] = None,
        coarse_grain_timestamp: Optional[str] = None,
    ) -> TabularDataset:
        """Declare the columns that `time_before` and its siblings use. Without arguments, remove the declaration.

        Args:
            timestamp: The column with the time of each row.
            partition_timestamp: The column with the time of the file, from its path.
            validate: Whether to check now that the columns exist and hold times.
            fine_grain_timestamp: Azure's earlier name of `timestamp`.
            coarse_grain_timestamp: Azure's earlier name of `partition_timestamp`.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: Both are the same column, or a check failed.

        Example:
            from datetime import datetime, timedelta


            def recent(table: TabularDataset) -> None:
                timed = table.with_timestamp_columns("born")
                print(timed.time_after(datetime(1900, 1, 1)).time_before(datetime(1910, 1, 1)))
                print(timed.time_between(datetime(1900, 1, 1), datetime(1910, 1, 1)))
                print(timed.time_recent(timedelta(days=7)))
        """
        fine, coarse = fine_grain_timestamp or timestamp, coarse_grain_timestamp or partition_timestamp
        if fine is not None and fine == coarse:
            raise UserErrorException(
                f"timestamp and partition_timestamp are both {fine!r}", hint="give two columns, or only one of them"
            )
        named = {role: name for role, name in (("fine", fine), ("coarse", coarse)) if name is not None}
        made = self._changed(timestamps=named)
        if validate:
            made._check_times()
        return made

    def time_before(self, end_time: datetime, include_boundary: bool = True, validate: bool = True) -> TabularDataset:
        """Keep rows up to a time.

        Args:
            end_time: The time; one without a zone is UTC.
            include_boundary: Whether rows of exactly this time are kept.
            validate: Whether to check now that the timestamp columns exist and hold times.

        Returns:
            A new dataset.

        Raises:
            DatasetTimestampMissingError: The dataset has no timestamp column.
            UserErrorException: `end_time` is not a datetime, or a check failed.

        Example:
            from datetime import datetime


            def early(table: TabularDataset) -> None:
                print(table.with_timestamp_columns("born").time_before(datetime(1900, 1, 1)))
        """
        return self._between(None, end_time, include_boundary, validate)

    def time_after(self, start_time: datetime, include_boundary: bool = True, validate: bool = True) -> TabularDataset:
        """Keep rows from a time on.

        Args:
            start_time: The time; one without a zone is UTC.
            include_boundary: Whether rows of exactly this time are kept.
            validate: Whether to check now that the timestamp columns exist and hold times.

        Returns:
            A new dataset.

        Raises:
            DatasetTimestampMissingError: The dataset has no timestamp column.
            UserErrorException: `start_time` is not a datetime, or a check failed.

        Example:
            from datetime import datetime


            def late(table: TabularDataset) -> None:
                print(table.with_timestamp_columns("born").time_after(datetime(1900, 1, 1)))
        """
        return self._between(start_time, None, include_boundary, validate)

    def time_between(
        self, start_time: datetime, end_time: datetime, include_boundary: bool = True, validate: bool = True
    ) -> TabularDataset:
        """Keep rows between two times.

        Args:
            start_time: The first time; one without a zone is UTC.
            end_time: The last time.
            include_boundary: Whether rows of exactly these times are kept.
            validate: Whether to check now that the timestamp columns exist and hold times.

        Returns:
            A new dataset.

        Raises:
            DatasetTimestampMissingError: The dataset has no timestamp column.
            UserErrorException: The times are in the wrong order or are not datetimes, or a check failed.

        Example:
            from datetime import datetime


            def within(table: TabularDataset) -> None:
                print(table.with_timestamp_columns("born").time_between(datetime(1900, 1, 1), datetime(1910, 1, 1)))
        """
        if _plain_utc(start_time) > _plain_utc(end_time):
            raise UserErrorException(f"start_time {start_time} is after end_time {end_time}", hint="swap the two")
        return self._between(start_time, end_time, include_boundary, validate)

    def time_recent(
        self, time_delta: timedelta, include_boundary: bool = True, validate: bool = True
    ) -> TabularDataset:
        """Keep rows of the last hours or days; the time of this call is stored in the dataset.

        Args:
            time_delta: How long ago.
            include_boundary: Whether rows of exactly that time are kept.
            validate: Whether to check now that the timestamp columns exist and hold times.

        Returns:
            A new dataset.

        Raises:
            DatasetTimestampMissingError: The dataset has no timestamp column.
            UserErrorException: `time_delta` is not a timedelta, or a check failed.

        Example:
            from datetime import timedelta


            def recent(table: TabularDataset) -> None:
                print(table.with_timestamp_columns("born").time_recent(timedelta(days=7)))
        """
        if not isinstance(time_delta, timedelta):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(f"{time_delta!r} is not a time span", hint="give a datetime.timedelta")
        now = datetime.now(timezone.utc).replace(tzinfo=None)
        return self._between(now - time_delta, None, include_boundary, validate)

    def _between(
        self, start: Optional[datetime], end: Optional[datetime], inclusive: bool, validate: bool
    ) -> TabularDataset:
        fine, coarse = self.timestamp_columns
        if fine is None and coarse is None:
            raise DatasetTimestampMissingError(
                "the dataset has no timestamp column", hint="name one: dataset.with_timestamp_columns('date')"
            )
        if validate:
            self._check_times()
        bounds = [(">=" if inclusive else ">", start), ("<=" if inclusive else "<", end)]
        made = self
        if coarse is not None and fine is not None:
            made = made._within_partitions(coarse, start, end)
        for operation, bound in bounds:
            if bound is not None:
                condition = apply(operation, {"field": fine or coarse}, literal(_plain_utc(bound)))
                made = made._with(tabular.where(condition))
        return made

    def _within_partitions(self, coarse: str, start: Optional[datetime], end: Optional[datetime]) -> TabularDataset:
        """Exclude files that cannot contain such rows. A row is never earlier than its partition's time."""
        made, length = self, _partition_length(coarse, self._definition["format"].get("partition_format"))
        if end is not None:
            made = made._with(tabular.where(apply("<=", {"field": coarse}, literal(_plain_utc(end)))))
        if start is not None and length is not None:
            made = made._with(tabular.where(apply(">=", {"field": coarse}, literal(_plain_utc(start) - length))))
        return made

    def _check_times(self) -> None:
        types = {column["name"]: column["type"] for column in self._inspect(first_rows=False)["columns"]}
        for name in self._timestamps().values():
            if name not in types:
                raise UserErrorException(
                    f"the column {name!r} does not exist", hint=f"the columns are {', '.join(map(repr, types))}"
                )
            if types[name] != "datetime":
                raise UserErrorException(
                    f"column {name!r} is {types[name]}, not a time",
                    hint=f"set its type: set_column_types={{{name!r}: DataType.to_datetime()}}",
                )

    def _timestamps(self) -> Dict[str, str]:
        return dict(self._definition.get("timestamps") or {})

    # ── help ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def partition_keys(self) -> List[str]:
        """The columns that come from paths."""
        form = self._definition["format"].get("partition_format") or ""
        return [part.partition("}")[0].partition(":")[0] for part in form.split("{")[1:]]

    def _file_definition(self) -> Dict[str, Any]:
        """Return the definition of the files; a table's steps select rows, not files."""
        return {"sources": self._definition["sources"]}

    def _pin(self, workspace: Any) -> Optional[str]:
        if self._definition["format"]["kind"] == "sql":
            return None
        return self._pinned() or super()._pin(workspace)

    def _pinned(self) -> Optional[str]:
        """Return the digest of the pinned listing. A dataset derived from a version has the version's files."""
        return super()._pinned() or self._definition.get("listing")

    def _with(self, step: Dict[str, Any]) -> TabularDataset:
        return self._changed(steps=[*(self._definition.get("steps") or ()), step])

    def _changed(self, **parts: Any) -> TabularDataset:
        pinned = self._pinned()
        listing = {"listing": pinned} if pinned else {}
        return TabularDataset(dict(self._definition, **listing, **parts, **self._origin()), self._workspace)

    def _inspect(self, first_rows: bool) -> Dict[str, Any]:
        with self._temporary_directory() as aside:
            return self._call_worker("inspect", aside, first_rows=first_rows)

    def _call_worker(self, verb: str, aside: str, **arguments: Any) -> Any:
        try:
            return worker_client.call(f"table.{verb}", dict(self._arguments(aside), **arguments))
        except (UserErrorException, ServiceException) as error:
            raise DatasetExecutionError(error.message, error, hint=error.hint) from error

    def _arguments(self, aside: str) -> Dict[str, Any]:
        return {
            "definition": self._definition,
            "stores": self._stores(),
            "listing": self._pinned_listing(aside),
            "cache": worker_client.cache_folder(),
        }

    @staticmethod
    def _temporary_directory() -> ContextManager[str]:
        """Make a directory for temporary files."""
        return tempfile.TemporaryDirectory(prefix="footplate-table-")


def _partition_length(column: str, form: Optional[str]) -> Optional[timedelta]:
    """Return None if the length of a partition is unknown."""
    for part in (form or "").split("{")[1:]:
        name, _, clock = part.partition("}")[0].partition(":")
        if name == column:
            return next((length for token, length in _PARTITION_LENGTHS if token in clock), None)
    return None


def _plain_utc(moment: Any) -> datetime:
    if not isinstance(moment, datetime):
        raise UserErrorException(f"{moment!r} is not a time", hint="give a datetime.datetime")
    return moment.astimezone(timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment


def _seed(seed: Optional[int]) -> int:
    return random.randrange(1 << 31) if seed is None else int(seed)


def _no_files(operation: str) -> UserErrorException:
    return UserErrorException(
        f"a tabular dataset has rows, not files to {operation}",
        hint="use to_pandas_dataframe, or write files: dataset.to_csv_files() or to_parquet_files()",
    )
