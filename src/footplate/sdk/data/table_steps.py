"""The steps that choose rows and columns of a table: the first half of `TabularDataset`."""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, ContextManager, Dict, List, Optional, Sequence, Tuple, Union, cast

from footplate.domain import tables
from footplate.domain.tables import apply, literal
from footplate.sdk.data import worker_client
from footplate.sdk.data.base import INVALID, AbstractDataset
from footplate.sdk.data.expressions import Expression
from footplate.sdk.exceptions import (
    DatasetExecutionError,
    DatasetTimestampMissingError,
    ServiceException,
    UserErrorException,
)
from footplate.sdk.session import translating
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.data.tabular_dataset import TabularDataset

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
class TableSteps(AbstractDataset):
    _condition = "ds['column'] > 3"

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
        with translating(INVALID):
            step = tables.keep(columns)
        lost = [name for name in self._timestamps().values() if name not in step["columns"]]
        narrowed = self._with(step)._without_timestamps(lost)
        if validate:
            narrowed._inspect(first_rows=True)
        return narrowed

    def drop_columns(self, columns: Union[str, Sequence[str]]) -> TabularDataset:
        """Drop these columns. A timestamp column among them loses its role.

        Args:
            columns: One name, or several.

        Returns:
            A new dataset.

        Raises:
            UserErrorException: No column was given.
        """
        with translating(INVALID):
            step = tables.drop(columns)
        return self._with(step)._without_timestamps(step["columns"])

    def _without_timestamps(self, lost: Sequence[str]) -> TabularDataset:
        remaining = {role: name for role, name in self._timestamps().items() if name not in lost}
        return self._with_parts(timestamps=remaining)

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
        dataset = self._with_parts(timestamps=named)
        if validate:
            dataset._check_times()
        return dataset

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
        dataset: Any = self
        if coarse is not None and fine is not None:
            dataset = dataset._within_partitions(coarse, start, end)
        for operation, bound in bounds:
            if bound is not None:
                condition = apply(operation, {"field": fine or coarse}, literal(_plain_utc(bound)))
                dataset = dataset._with(tables.where(condition))
        return dataset

    def _within_partitions(self, coarse: str, start: Optional[datetime], end: Optional[datetime]) -> TabularDataset:
        """Exclude files that cannot contain such rows. A row is never earlier than its partition's time."""
        dataset: Any = self
        length = _partition_length(coarse, self._definition["format"].get("partition_format"))
        if end is not None:
            dataset = dataset._with(tables.where(apply("<=", {"field": coarse}, literal(_plain_utc(end)))))
        if start is not None and length is not None:
            dataset = dataset._with(tables.where(apply(">=", {"field": coarse}, literal(_plain_utc(start) - length))))
        return dataset

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
        return self._pinned_digest() or super()._pin(workspace)

    def _pinned_digest(self) -> Optional[str]:
        """Return the digest of the pinned listing. A dataset derived from a version has the version's files."""
        return super()._pinned_digest() or self._definition.get("listing")

    def _with(self, step: Dict[str, Any]) -> TabularDataset:
        return self._with_parts(steps=[*(self._definition.get("steps") or ()), step])

    def _with_parts(self, **parts: Any) -> TabularDataset:
        pinned = self._pinned_digest()
        listing = {"listing": pinned} if pinned else {}
        return cast("TabularDataset", self._derive(**listing, **parts))

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
            "listing": self._fetch_pinned_listing(aside),
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
