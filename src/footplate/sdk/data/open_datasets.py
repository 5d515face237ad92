"""Azure's open datasets: the same classes, reading files that you provide.

The files are in the datastore `opendatasets` of the workspace, in a folder per class:

    Datastore.register_folder(workspace, "opendatasets", "/data/open")      # /data/open/MNIST, /data/open/Diabetes, …
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from footplate.sdk.data.dataset import Dataset
from footplate.sdk.data.datastore import Datastore
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.tabular_dataset import TabularDataset
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.runs.run import Run
from footplate.sdk.workspace import Workspace

DATASTORE = "opendatasets"


class OpenDataset:
    """One of Azure's open datasets. Its files are in the folder of its name, or in folders below it."""

    _time: Optional[str] = None  # the column that start_date and end_date refer to

    def __init__(
        self,
        start_date: Any = None,
        end_date: Any = None,
        cols: Optional[Sequence[str]] = None,
        limit: int = -1,
        enable_telemetry: bool = True,
    ) -> None:
        self._dates, self._cols, self._limit = (start_date, end_date), cols, limit

    def to_pandas_dataframe(self) -> Any:
        """Read the rows between the two dates, all columns or `cols`."""
        table = self.get_tabular_dataset(*self._dates, cols=self._cols)
        return (table.take(self._limit) if self._limit >= 0 else table).to_pandas_dataframe().reset_index(drop=True)

    @classmethod
    def get_file_dataset(cls, enable_telemetry: bool = True) -> FileDataset:
        """Return a dataset of the files."""
        return Dataset.File.from_files(_place(cls.__name__))

    @classmethod
    def get_tabular_dataset(
        cls,
        start_date: Any = None,
        end_date: Any = None,
        cols: Optional[Sequence[str]] = None,
        enable_telemetry: bool = True,
    ) -> TabularDataset:
        """Return the table in the Parquet files of the folder, or else in its delimited files."""
        names = cls.get_file_dataset().to_path()
        if any(name.endswith(".parquet") for name in names):
            table = Dataset.Tabular.from_parquet_files(_place(cls.__name__, "**/*.parquet"))
        else:
            table = Dataset.Tabular.from_delimited_files(_place(cls.__name__, "**"))
        if start_date is not None or end_date is not None:
            table = _between(cls.__name__, table, cls._time, start_date, end_date)
        return table.keep_columns(_listed(cols)) if cols else table


def _place(name: str, pattern: str = "**") -> Tuple[Any, str]:
    run = Run.get_context()
    workspace = run.experiment.workspace if hasattr(run, "experiment") else Workspace.from_config()
    if DATASTORE not in workspace.datastores:
        raise UserErrorException(
            f"{name} needs its files, and the workspace has no datastore {DATASTORE!r}",
            hint=f"put them into a folder {name} and register the folder above it: "
            f"Datastore.register_folder(workspace, {DATASTORE!r}, '/path')",
        )
    return Datastore.get(workspace, DATASTORE), f"{name}/{pattern}"


def _between(name: str, table: TabularDataset, column: Optional[str], start: Any, end: Any) -> TabularDataset:
    if column is None:
        raise UserErrorException(f"{name} has no column of dates", hint="leave out start_date and end_date")
    timed = table.with_timestamp_columns(column)
    if start is not None:
        timed = timed.time_after(start)
    return timed.time_before(end) if end is not None else timed


def _listed(cols: Sequence[str]) -> List[str]:
    return [cols] if isinstance(cols, str) else list(cols)


class MNIST(OpenDataset):
    pass


class Diabetes(OpenDataset):
    pass


class OjSalesSimulated(OpenDataset):
    pass


class NycTlcYellow(OpenDataset):
    _time = "tpepPickupDateTime"


class NycTlcGreen(OpenDataset):
    _time = "lpepPickupDatetime"


class NycTlcFhv(OpenDataset):
    _time = "pickupDateTime"


class NoaaIsdWeather(OpenDataset):
    _time = "datetime"


class NoaaGfsWeather(OpenDataset):
    _time = "currentDatetime"


class PublicHolidays(OpenDataset):
    _time = "date"


class PublicHolidaysOffline(PublicHolidays):
    pass


class BostonSafety(OpenDataset):
    _time = "dateTime"


class ChicagoSafety(BostonSafety):
    pass


class NycSafety(BostonSafety):
    pass


class SanFranciscoSafety(BostonSafety):
    pass


class SeattleSafety(BostonSafety):
    pass


class UsPopulationCounty(OpenDataset):
    pass


class UsPopulationZip(OpenDataset):
    pass
