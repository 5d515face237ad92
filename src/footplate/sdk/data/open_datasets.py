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
from footplate.sdk.wrong_types import explained

DATASTORE = "opendatasets"


@explained
class OpenDataset:
    """One of Azure's open datasets. Its files are in the folder of its name, or in folders below it.

    Args:
        start_date: The first date of rows to read.
        end_date: The last date of rows to read.
        cols: Only these columns.
        limit: How many rows to read; -1 reads all.
        enable_telemetry: Accepted and ignored: nothing is sent.

    Example:
        def load() -> None:
            print(Diabetes(limit=10).to_pandas_dataframe())
    """

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
        """Read the rows between the two dates, all columns or `cols`.

        Returns:
            A DataFrame.

        Raises:
            UserErrorException: The workspace has no datastore `opendatasets`, or the table has no dates.

        Example:
            def load() -> None:
                print(Diabetes(limit=10).to_pandas_dataframe())
        """
        table = self.get_tabular_dataset(*self._dates, cols=self._cols)
        return (table.take(self._limit) if self._limit >= 0 else table).to_pandas_dataframe().reset_index(drop=True)

    @classmethod
    def get_file_dataset(cls, enable_telemetry: bool = True) -> FileDataset:
        """Return a dataset of the files.

        Args:
            enable_telemetry: Accepted and ignored: nothing is sent.

        Returns:
            The dataset.

        Raises:
            UserErrorException: The workspace has no datastore `opendatasets`.

        Example:
            def load() -> None:
                print(MNIST.get_file_dataset().to_path())
        """
        return Dataset.File.from_files(_place(cls.__name__))

    @classmethod
    def get_tabular_dataset(
        cls,
        start_date: Any = None,
        end_date: Any = None,
        cols: Optional[Sequence[str]] = None,
        enable_telemetry: bool = True,
    ) -> TabularDataset:
        """Return the table in the Parquet files of the folder, or else in its delimited files.

        Args:
            start_date: The first date of rows to read.
            end_date: The last date of rows to read.
            cols: Only these columns.
            enable_telemetry: Accepted and ignored: nothing is sent.

        Returns:
            The dataset.

        Raises:
            UserErrorException: The workspace has no datastore `opendatasets`, or the table has no dates.

        Example:
            def load() -> None:
                print(Diabetes.get_tabular_dataset(cols=["AGE"]).to_pandas_dataframe())
        """
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
    """Azure's open dataset of handwritten digits. The files are your own copy.

    Example:
        def load() -> None:
            print(MNIST.get_tabular_dataset().take(5).to_pandas_dataframe())
    """


class Diabetes(OpenDataset):
    """Azure's open dataset of measurements of diabetes patients. The files are your own copy.

    Example:
        def load() -> None:
            print(Diabetes.get_tabular_dataset().take(5).to_pandas_dataframe())
    """


class OjSalesSimulated(OpenDataset):
    """Azure's open dataset of simulated sales of orange juice. The files are your own copy.

    Example:
        def load() -> None:
            print(OjSalesSimulated.get_tabular_dataset().take(5).to_pandas_dataframe())
    """


class NycTlcYellow(OpenDataset):
    """Azure's open dataset of yellow taxi trips in New York. The files are your own copy.

    Example:
        def load() -> None:
            print(NycTlcYellow.get_tabular_dataset().take(5).to_pandas_dataframe())
    """

    _time = "tpepPickupDateTime"


class NycTlcGreen(OpenDataset):
    """Azure's open dataset of green taxi trips in New York. The files are your own copy.

    Example:
        def load() -> None:
            print(NycTlcGreen.get_tabular_dataset().take(5).to_pandas_dataframe())
    """

    _time = "lpepPickupDatetime"


class NycTlcFhv(OpenDataset):
    """Azure's open dataset of for-hire vehicle trips in New York. The files are your own copy.

    Example:
        def load() -> None:
            print(NycTlcFhv.get_tabular_dataset().take(5).to_pandas_dataframe())
    """

    _time = "pickupDateTime"


class NoaaIsdWeather(OpenDataset):
    """Azure's open dataset of hourly weather observations. The files are your own copy.

    Example:
        def load() -> None:
            print(NoaaIsdWeather.get_tabular_dataset().take(5).to_pandas_dataframe())
    """

    _time = "datetime"


class NoaaGfsWeather(OpenDataset):
    """Azure's open dataset of weather forecasts. The files are your own copy.

    Example:
        def load() -> None:
            print(NoaaGfsWeather.get_tabular_dataset().take(5).to_pandas_dataframe())
    """

    _time = "currentDatetime"


class PublicHolidays(OpenDataset):
    """Azure's open dataset of public holidays. The files are your own copy.

    Example:
        def load() -> None:
            print(PublicHolidays.get_tabular_dataset().take(5).to_pandas_dataframe())
    """

    _time = "date"


class PublicHolidaysOffline(PublicHolidays):
    """Azure's open dataset of public holidays, under Azure's second name. The files are your own copy.

    Example:
        def load() -> None:
            print(PublicHolidaysOffline.get_tabular_dataset().take(5).to_pandas_dataframe())
    """


class BostonSafety(OpenDataset):
    """Azure's open dataset of calls to the city of Boston. The files are your own copy.

    Example:
        def load() -> None:
            print(BostonSafety.get_tabular_dataset().take(5).to_pandas_dataframe())
    """

    _time = "dateTime"


class ChicagoSafety(BostonSafety):
    """Azure's open dataset of calls to the city of Chicago. The files are your own copy.

    Example:
        def load() -> None:
            print(ChicagoSafety.get_tabular_dataset().take(5).to_pandas_dataframe())
    """


class NycSafety(BostonSafety):
    """Azure's open dataset of calls to the city of New York. The files are your own copy.

    Example:
        def load() -> None:
            print(NycSafety.get_tabular_dataset().take(5).to_pandas_dataframe())
    """


class SanFranciscoSafety(BostonSafety):
    """Azure's open dataset of calls to the city of San Francisco. The files are your own copy.

    Example:
        def load() -> None:
            print(SanFranciscoSafety.get_tabular_dataset().take(5).to_pandas_dataframe())
    """


class SeattleSafety(BostonSafety):
    """Azure's open dataset of calls to the city of Seattle. The files are your own copy.

    Example:
        def load() -> None:
            print(SeattleSafety.get_tabular_dataset().take(5).to_pandas_dataframe())
    """


class UsPopulationCounty(OpenDataset):
    """Azure's open dataset of the population of the United States by county. The files are your own copy.

    Example:
        def load() -> None:
            print(UsPopulationCounty.get_tabular_dataset().take(5).to_pandas_dataframe())
    """


class UsPopulationZip(OpenDataset):
    """Azure's open dataset of the population of the United States by ZIP code. The files are your own copy.

    Example:
        def load() -> None:
            print(UsPopulationZip.get_tabular_dataset().take(5).to_pandas_dataframe())
    """
