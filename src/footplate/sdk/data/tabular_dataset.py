"""Tables: a definition of rows and columns, which are read when somebody asks for them."""

from __future__ import annotations

import os
import random
import tempfile
import uuid
import warnings
from datetime import datetime, timedelta, timezone
from typing import Any, ContextManager, Dict, List, NoReturn, Optional, Sequence, Tuple, Union

from footplate.domain import tabular
from footplate.domain.expressions import apply, literal
from footplate.domain.frames import Frame, read_frame
from footplate.sdk.data import worker_client
from footplate.sdk.data.base import AbstractDataset
from footplate.sdk.data.dataframe import libraries, to_pandas
from footplate.sdk.data.expressions import Expression
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.store_access import store_spec
from footplate.sdk.exceptions import (
    DatasetExecutionError,
    DatasetTimestampMissingError,
    Kinds,
    ServiceException,
    UserErrorException,
)
from footplate.sdk.session import translating

_REFUSALS = ("invalid", "not_found", "not_allowed", "conflict", "unavailable")
_EXECUTION: Kinds = dict.fromkeys(_REFUSALS, DatasetExecutionError)
_INVALID: Kinds = {"invalid": UserErrorException}
_SLACK = (
    ("ss", timedelta(seconds=1)),
    ("mm", timedelta(minutes=1)),
    ("HH", timedelta(hours=1)),
    ("dd", timedelta(days=1)),
    ("MM", timedelta(days=31)),
    ("yyyy", timedelta(days=366)),
)
"""How much later than its partition's time a row may be, by the finest part that the path tells."""


class TabularDataset(AbstractDataset):
    """Made with `Dataset.Tabular`. What chooses rows or columns reads nothing: it gives another dataset."""

    kind = "tabular"

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def to_pandas_dataframe(self, on_error: str = "null", out_of_range_datetime: str = "null") -> Any:
        """All rows. With a timestamp column, it is the index as well.

        `on_error`: a value that is not of its column's type becomes null, with a warning, or is an error ('fail').
        `out_of_range_datetime`: the same for a time that pandas' datetime64[ns] cannot hold.
        """
        for name, value in (("on_error", on_error), ("out_of_range_datetime", out_of_range_datetime)):
            if value not in ("null", "fail"):
                raise UserErrorException(f"{name} is {value!r}", hint="use 'null' or 'fail'")
        libraries()  # what is missing is told before everything is read
        frame, told = self._read(strict=on_error == "fail")
        for each in told:
            warnings.warn(each, UserWarning, stacklevel=2)
        made = to_pandas(frame, out_of_range_datetime)
        self._note_read()
        timestamp = self.timestamp_columns[0]
        if timestamp is not None and timestamp not in made.columns:
            raise DatasetExecutionError(
                f"there is no column {timestamp!r}, which with_timestamp_columns names",
                hint=f"the columns are {', '.join(map(repr, made.columns))}",
            )
        return made if timestamp is None else made.set_index(timestamp, drop=False).rename_axis(None)

    def _read(self, strict: bool) -> Tuple[Frame, List[str]]:
        with self._aside() as aside:
            if worker_client.argv_of_job() is not None:
                target = os.path.join(aside, "frame")
                answer = self._ask("write_frame", aside, strict=strict, target=target)
                return read_frame(target), answer["warnings"]  # mapped: it stays readable when the file has no name
            with translating(_EXECUTION):
                frame, told = worker_client.in_this_process().tables().read(strict=strict, **self._arguments(aside))
            return frame, told

    def to_csv_files(self, separator: str = ",") -> FileDataset:
        """The rows, written now as CSV files to the default datastore: a file dataset, which can be mounted."""
        return self._written("csv", separator=separator)

    def to_parquet_files(self) -> FileDataset:
        """The rows, written now as Parquet files to the default datastore: a file dataset, which can be mounted."""
        return self._written("parquet")

    def _written(self, form: str, **options: Any) -> FileDataset:
        if self._workspace is None:
            raise UserErrorException(
                "nothing says in which workspace the files are to be kept",
                hint="register the dataset first: dataset = dataset.register(workspace, name)",
            )
        datastore = self._workspace.get_default_datastore()
        folder = f"tables/{self.fingerprint()[:16]}-{uuid.uuid4().hex[:8]}"
        with self._aside() as aside:
            target = os.path.join(aside, "files")
            answer = self._ask("write_files", aside, target=target, form=form, **options)
            for each in answer["warnings"]:
                warnings.warn(each, UserWarning, stacklevel=3)
            files = [(os.path.join(target, name), name) for name in answer["files"]]
            store = store_spec(self._workspace, datastore.name)
            worker_client.call("upload", {"files": files, "store": store, "folder": folder, "overwrite": True})
        self._note_read()
        return FileDataset({"sources": [{"datastore": datastore.name, "path": folder}]}, self._workspace)

    def get_profile(self, workspace: Any = None, compute_target: Any = None) -> Dict[str, Any]:
        """Rows, and for each column its values, missing ones, extremes, mean and standard deviation; read now."""
        with self._aside() as aside:
            found = self._ask("profile", aside)
        self._note_read()
        return found

    def to_spark_dataframe(self) -> NoReturn:
        raise UserErrorException(
            "Footplate has no Spark", hint="use to_parquet_files and read them with spark.read.parquet"
        )

    def mount(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _no_files("mount")

    def download(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _no_files("download")

    def as_mount(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _no_files("mount")

    def as_download(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _no_files("download")

    # ── choosing rows ─────────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, count: int) -> TabularDataset:
        with translating(_INVALID):
            return self._with(tabular.take(count))

    def skip(self, count: int) -> TabularDataset:
        with translating(_INVALID):
            return self._with(tabular.skip(count))

    def take_sample(self, probability: float, seed: Optional[int] = None) -> TabularDataset:
        """Each row with this probability. Without a seed one is drawn now, so that reading twice gives the same."""
        with translating(_INVALID):
            return self._with(tabular.sample(probability, _seed(seed)))

    def random_split(self, percentage: float, seed: Optional[int] = None) -> Tuple[TabularDataset, TabularDataset]:
        """Two datasets that have nothing in common: about this share of the rows (0 … 1), and the others."""
        drawn = _seed(seed)
        with translating(_INVALID):
            first, second = (tabular.split(percentage, drawn, first=part) for part in (True, False))
        return self._with(first), self._with(second)

    def filter(self, expression: Expression) -> TabularDataset:
        """The rows for which it holds: `ds.filter((ds['age'] > 30) & ~ds['name'].starts_with('A'))`."""
        if not isinstance(expression, Expression):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(
                f"filter takes an expression, not {expression!r}", hint="ds.filter(ds['column'] > 3)"
            )
        return self._with(tabular.where(expression.data))

    def __getitem__(self, column: str) -> Expression:
        """A column, for `filter`."""
        if not isinstance(column, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(f"{column!r} is not the name of a column", hint="use text, as in ds['age']")
        return Expression({"field": column})

    # ── choosing columns ──────────────────────────────────────────────────────────────────────────────────────────────

    def keep_columns(self, columns: Union[str, Sequence[str]], validate: bool = False) -> TabularDataset:
        """These columns, in this order. A timestamp column that is not among them is one no longer."""
        with translating(_INVALID):
            step = tabular.keep(columns)
        lost = [name for name in self._timestamps().values() if name not in step["columns"]]
        made = self._with(step)._without_timestamps(lost)
        if validate:
            made._look(first_rows=True)
        return made

    def drop_columns(self, columns: Union[str, Sequence[str]]) -> TabularDataset:
        """All columns but these. A timestamp column that is among them is one no longer."""
        with translating(_INVALID):
            step = tabular.drop(columns)
        return self._with(step)._without_timestamps(step["columns"])

    def _without_timestamps(self, lost: Sequence[str]) -> TabularDataset:
        kept = {role: name for role, name in self._timestamps().items() if name not in lost}
        return self._changed(timestamps=kept)

    # ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def timestamp_columns(self) -> Tuple[Optional[str], Optional[str]]:
        """The columns that `with_timestamp_columns` named: of the row, of its partition."""
        named = self._timestamps()
        return named.get("fine"), named.get("coarse")

    def with_timestamp_columns(
        self,
        timestamp: Optional[str] = None,
        partition_timestamp: Optional[str] = None,
        validate: bool = False,
        **kwargs: Any,
    ) -> TabularDataset:
        """Say which columns tell the time: `time_before` and its kin go by them. Without any: that none does."""
        fine = kwargs.pop("fine_grain_timestamp", None) or timestamp
        coarse = kwargs.pop("coarse_grain_timestamp", None) or partition_timestamp
        if kwargs:
            raise UserErrorException(
                f"with_timestamp_columns has no parameter {sorted(kwargs)[0]!r}",
                hint="use timestamp and partition_timestamp",
            )
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
        return self._between(None, end_time, include_boundary, validate)

    def time_after(self, start_time: datetime, include_boundary: bool = True, validate: bool = True) -> TabularDataset:
        return self._between(start_time, None, include_boundary, validate)

    def time_between(
        self, start_time: datetime, end_time: datetime, include_boundary: bool = True, validate: bool = True
    ) -> TabularDataset:
        if _plain_utc(start_time) > _plain_utc(end_time):
            raise UserErrorException(f"start_time {start_time} is after end_time {end_time}", hint="swap the two")
        return self._between(start_time, end_time, include_boundary, validate)

    def time_recent(
        self, time_delta: timedelta, include_boundary: bool = True, validate: bool = True
    ) -> TabularDataset:
        """Rows of the last `time_delta`, counted from now: the moment of this call is kept in the dataset."""
        if not isinstance(time_delta, timedelta):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(f"{time_delta!r} is no span of time", hint="give a datetime.timedelta")
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
        """Leave out files that cannot hold such rows. A row is never earlier than its partition's time."""
        made, slack = self, _slack_of(coarse, self._definition["format"].get("partition_format"))
        if end is not None:
            made = made._with(tabular.where(apply("<=", {"field": coarse}, literal(_plain_utc(end)))))
        if start is not None and slack is not None:
            made = made._with(tabular.where(apply(">=", {"field": coarse}, literal(_plain_utc(start) - slack))))
        return made

    def _check_times(self) -> None:
        types = {column["name"]: column["type"] for column in self._look(first_rows=False)["columns"]}
        for name in self._timestamps().values():
            if name not in types:
                raise UserErrorException(
                    f"there is no column {name!r}", hint=f"the columns are {', '.join(map(repr, types))}"
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
        """The columns that are read off the paths."""
        form = self._definition["format"].get("partition_format") or ""
        return [part.partition("}")[0].partition(":")[0] for part in form.split("{")[1:]]

    def _file_definition(self) -> Dict[str, Any]:
        """The steps of a table choose rows, not files."""
        return {"sources": self._definition["sources"]}

    def _pin(self, workspace: Any) -> Optional[str]:
        if self._definition["format"]["kind"] == "sql":
            return None
        return self._pinned() or super()._pin(workspace)

    def _pinned(self) -> Optional[str]:
        """What is made of a version is of the same files as the version."""
        return super()._pinned() or self._definition.get("listing")

    def _with(self, step: Dict[str, Any]) -> TabularDataset:
        return self._changed(steps=[*(self._definition.get("steps") or ()), step])

    def _changed(self, **parts: Any) -> TabularDataset:
        pinned = self._pinned()
        listing = {"listing": pinned} if pinned else {}
        return TabularDataset(dict(self._definition, **listing, **parts, **self._origin()), self._workspace)

    def _look(self, first_rows: bool) -> Dict[str, Any]:
        with self._aside() as aside:
            return self._ask("look", aside, first_rows=first_rows)

    def _ask(self, verb: str, aside: str, **arguments: Any) -> Any:
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
    def _aside() -> ContextManager[str]:
        """A folder for what is on its way."""
        return tempfile.TemporaryDirectory(prefix="footplate-table-")


def _slack_of(column: str, form: Optional[str]) -> Optional[timedelta]:
    """None when nothing tells how long a partition is."""
    for part in (form or "").split("{")[1:]:
        name, _, clock = part.partition("}")[0].partition(":")
        if name == column:
            return next((slack for token, slack in _SLACK if token in clock), None)
    return None


def _plain_utc(moment: Any) -> datetime:
    if not isinstance(moment, datetime):
        raise UserErrorException(f"{moment!r} is no time", hint="give a datetime.datetime")
    return moment.astimezone(timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment


def _seed(seed: Optional[int]) -> int:
    return random.randrange(1 << 31) if seed is None else int(seed)


def _no_files(what: str) -> UserErrorException:
    return UserErrorException(
        f"a tabular dataset has rows, and no files to {what}",
        hint="use to_pandas_dataframe, or make files of it: dataset.to_csv_files() or to_parquet_files()",
    )
