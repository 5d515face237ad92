"""Azure's open datasets: the same classes, reading Azure's public files or your own copies.

Your copies come first: a folder per class in the datastore `opendatasets` of the workspace.

    Datastore.register_folder(workspace, "opendatasets", "/data/open")      # /data/open/MNIST, /data/open/Diabetes, …
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Generator, List, Optional, Sequence, Tuple, Type

from footplate.errors import Unavailable
from footplate.sdk import public_files
from footplate.sdk.data.dataset import Dataset
from footplate.sdk.data.datastore import Datastore
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.tabular_dataset import TabularDataset
from footplate.sdk.exceptions import DatasetValidationError, UserErrorException
from footplate.sdk.run import Run
from footplate.sdk.values.wrong_types import explained
from footplate.sdk.workspace import Workspace

DATASTORE = "opendatasets"
_DIGITS = {"all": ("train", "t10k"), "train": ("train",), "test": ("t10k",)}
"""Values of `dataset_filter` of MNIST, and what the names of its files begin with."""


@explained
class OpenDataset:
    """One of Azure's open datasets.

    Its files are your own, in the folder of its name or in folders below it; or else Azure's public ones. Those are
    downloaded when they are read, into the data cache of the machine.

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
    _public = ""  # the container and the folder of the public files

    def __init__(
        self,
        start_date: Any = None,
        end_date: Any = None,
        cols: Optional[Sequence[str]] = None,
        limit: int = -1,
        enable_telemetry: bool = True,
    ) -> None:
        self._dates = (start_date, end_date)
        self._cols = cols
        self._limit = limit

    def to_pandas_dataframe(self) -> Any:
        """Read the rows between the two dates, all columns or `cols`.

        Returns:
            A DataFrame.

        Raises:
            UserErrorException: The files can neither be downloaded nor read from your datastore `opendatasets`, or
                the table has no dates.

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
            UserErrorException: The files can neither be downloaded nor read from your datastore `opendatasets`.

        Example:
            def load() -> None:
                print(MNIST.get_file_dataset().to_path())
        """
        own = _own_files(cls.__name__)
        return Dataset.File.from_files(cls._addresses(), validate=False) if own is None else own

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
            UserErrorException: The files can neither be downloaded nor read from your datastore `opendatasets`, or
                the table has no dates.

        Example:
            def load() -> None:
                print(Diabetes.get_tabular_dataset(cols=["AGE"]).to_pandas_dataframe())
        """
        own = _own_files(cls.__name__)
        if own is None:
            table = _table(cls._addresses(start_date, end_date))
        elif any(name.endswith(".parquet") for name in own.to_path()):
            table = Dataset.Tabular.from_parquet_files(_place(cls.__name__, "**/*.parquet"))
        else:
            table = Dataset.Tabular.from_delimited_files(_place(cls.__name__))
        if start_date is not None or end_date is not None:
            table = _between(cls.__name__, table, cls._time, start_date, end_date)
        return table.keep_columns(_as_list(cols)) if cols else table

    @classmethod
    def _addresses(cls, start: Any = None, end: Any = None) -> List[str]:
        """Return the addresses of the public files, as far as they may have rows between the dates."""
        with _explain_unavailable(cls.__name__):
            paths = public_files.list_files(cls._public)
        within = public_files.in_months(paths, start, end) or paths[:1]  # a table without rows still has columns
        return [public_files.address_of(path) for path in within]


@contextmanager
def _explain_unavailable(name: str) -> Generator[None, None, None]:
    """Raise an error about the dataset where its public files cannot be reached."""
    try:
        yield
    except Unavailable as error:
        raise UserErrorException(
            f"{name} can neither be downloaded nor is it in a datastore {DATASTORE!r} of the workspace: "
            f"{error.message}",
            hint=f"put its files into a folder {name} and register the folder above it: "
            f"Datastore.register_folder(workspace, {DATASTORE!r}, '/path')",
        ) from None


def _own_files(name: str, pattern: str = "**") -> Optional[FileDataset]:
    """Return the files of the user's own copy, if there are any."""
    try:
        place = _place(name, pattern)
        return Dataset.File.from_files(place) if place is not None else None
    except DatasetValidationError:
        return None


def _place(name: str, pattern: str = "**") -> Optional[Tuple[Any, str]]:
    run = Run.get_context()
    try:
        workspace = run.experiment.workspace if hasattr(run, "experiment") else Workspace.from_config()
    except UserErrorException:  # public files need no workspace
        return None
    return (Datastore.get(workspace, DATASTORE), f"{name}/{pattern}") if DATASTORE in workspace.datastores else None


def _parts_of_mnist(dataset_filter: str) -> Tuple[str, ...]:
    if dataset_filter not in list(_DIGITS):  # not a lookup: users pass lists, which have no hash
        raise UserErrorException(f"dataset_filter is {dataset_filter!r}", hint=f"use {', '.join(_DIGITS)}")
    return _DIGITS[dataset_filter]


def _readable(name: str, paths: List[str]) -> List[str]:
    """Return the addresses of public files whose names are known, after a look at the first one."""
    with _explain_unavailable(name):
        public_files.check(paths[0])
    return [public_files.address_of(path) for path in paths]


def _table(addresses: List[str]) -> TabularDataset:
    parquet = [address for address in addresses if address.endswith(".parquet")]
    if parquet:
        return Dataset.Tabular.from_parquet_files(parquet, validate=False)
    return Dataset.Tabular.from_delimited_files(addresses, validate=False)


def _between(name: str, table: TabularDataset, column: Optional[str], start: Any, end: Any) -> TabularDataset:
    if column is None:
        raise UserErrorException(f"{name} has no column of dates", hint="leave out start_date and end_date")
    timed = table.with_timestamp_columns(column)
    if start is not None:
        timed = timed.time_after(start)
    return timed.time_before(end) if end is not None else timed


def _as_list(cols: Sequence[str]) -> List[str]:
    return [cols] if isinstance(cols, str) else list(cols)


class MNIST(OpenDataset):
    """Azure's open dataset of handwritten digits.

    Example:
        def load() -> None:
            print(MNIST.get_tabular_dataset().take(5).to_pandas_dataframe())
    """

    @classmethod
    def get_file_dataset(cls, enable_telemetry: bool = True, dataset_filter: str = "all") -> FileDataset:
        """Return a dataset of the compressed files of images and labels.

        Args:
            enable_telemetry: Accepted and ignored: nothing is sent.
            dataset_filter: `all`, `train` or `test`.

        Returns:
            The dataset.

        Raises:
            UserErrorException: The files can neither be downloaded nor read from your datastore `opendatasets`, or
                the filter is another one.

        Example:
            def load() -> None:
                print(MNIST.get_file_dataset(dataset_filter="test").to_path())
        """
        parts = _parts_of_mnist(dataset_filter)
        own = _own_files(cls.__name__, "**" if dataset_filter == "all" else f"**/{parts[0]}*")
        if own is not None:
            return own
        kinds = ("images-idx3", "labels-idx1")
        return Dataset.File.from_files(
            _readable(cls.__name__, [f"mnist/{part}-{kind}-ubyte.gz" for part in parts for kind in kinds]),
            validate=False,
        )

    @classmethod
    def get_tabular_dataset(
        cls,
        start_date: Any = None,
        end_date: Any = None,
        cols: Optional[Sequence[str]] = None,
        enable_telemetry: bool = True,
        dataset_filter: str = "all",
    ) -> TabularDataset:
        """Return the table of pixels and labels.

        Args:
            start_date, end_date: The table has no dates: leave them out.
            cols: Only these columns.
            enable_telemetry: Accepted and ignored: nothing is sent.
            dataset_filter: `all`, `train` or `test`; your own copy is read as a whole.

        Returns:
            The dataset.

        Raises:
            UserErrorException: The files can neither be downloaded nor read from your datastore `opendatasets`, or
                the filter is another one.

        Example:
            def load() -> None:
                print(MNIST.get_tabular_dataset(dataset_filter="train").take(5).to_pandas_dataframe())
        """
        parts = _parts_of_mnist(dataset_filter)
        if _own_files(cls.__name__) is not None or start_date is not None or end_date is not None:
            return super().get_tabular_dataset(start_date, end_date, cols)
        name = "merged" if dataset_filter == "all" else parts[0]
        table = _table(_readable(cls.__name__, [f"mnist/processed/{name}.csv"]))
        return table.keep_columns(_as_list(cols)) if cols else table


_DOC = """Azure's open dataset of {what}.

Example:
    def load() -> None:
        print({name}.get_tabular_dataset().take(5).to_pandas_dataframe())
"""


def _define(
    name: str, what: str, public: str, time: Optional[str] = None, base: Type[OpenDataset] = OpenDataset
) -> Type[OpenDataset]:
    """Return the class of a dataset; `public` is the folder of its files, and `time` its column of dates."""
    members = {"__doc__": _DOC.format(what=what, name=name), "__module__": __name__, "_public": public}
    return type(name, (base,), members if time is None else {**members, "_time": time})


Diabetes = _define("Diabetes", "measurements of diabetes patients", "mlsamples/diabetes")
OjSalesSimulated = _define(
    "OjSalesSimulated", "simulated sales of orange juice", "ojsales-simulatedcontainer/oj_sales_data"
)
NycTlcYellow = _define("NycTlcYellow", "yellow taxi trips in New York", "nyctlc/yellow", "tpepPickupDateTime")
NycTlcGreen = _define("NycTlcGreen", "green taxi trips in New York", "nyctlc/green", "lpepPickupDatetime")
NycTlcFhv = _define("NycTlcFhv", "for-hire vehicle trips in New York", "nyctlc/fhv", "pickupDateTime")
NoaaIsdWeather = _define(
    "NoaaIsdWeather", "hourly weather observations", "isdweatherdatacontainer/ISDWeather", "datetime"
)
NoaaGfsWeather = _define(
    "NoaaGfsWeather", "weather forecasts", "gfsweatherdatacontainer/GFSWeather/GFSProcessed", "currentDatetime"
)
PublicHolidays = _define("PublicHolidays", "public holidays", "holidaydatacontainer/Processed", "date")
PublicHolidaysOffline = _define(
    "PublicHolidaysOffline",
    "public holidays, under Azure's second name",
    "holidaydatacontainer/Processed",
    base=PublicHolidays,
)
UsPopulationCounty = _define(
    "UsPopulationCounty",
    "the population of the United States by county",
    "censusdatacontainer/release/us_population_county",
)
UsPopulationZip = _define(
    "UsPopulationZip",
    "the population of the United States by ZIP code",
    "censusdatacontainer/release/us_population_zip",
)
BostonSafety = _define(
    "BostonSafety", "calls to the city of Boston", "citydatacontainer/Safety/Release/city=Boston", "dateTime"
)
ChicagoSafety = _define(
    "ChicagoSafety", "calls to the city of Chicago", "citydatacontainer/Safety/Release/city=Chicago", base=BostonSafety
)
NycSafety = _define(
    "NycSafety", "calls to the city of New York", "citydatacontainer/Safety/Release/city=NewYorkCity", base=BostonSafety
)
SanFranciscoSafety = _define(
    "SanFranciscoSafety",
    "calls to the city of San Francisco",
    "citydatacontainer/Safety/Release/city=SanFrancisco",
    base=BostonSafety,
)
SeattleSafety = _define(
    "SeattleSafety", "calls to the city of Seattle", "citydatacontainer/Safety/Release/city=Seattle", base=BostonSafety
)
