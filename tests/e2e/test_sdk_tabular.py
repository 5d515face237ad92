"""Tables through the SDK: created, filtered, read into pandas here and in runs, written, registered."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import warnings
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from azureml.core import Dataset, Datastore, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.data import DataType, FileDataset, TabularDataset
from azureml.data.dataset_error_handling import DatasetExecutionError, DatasetValidationError
from azureml.data.dataset_factory import TabularDatasetFactory
from azureml.data.dataset_type_definitions import PromoteHeadersBehavior
from azureml.exceptions import DatasetTimestampMissingError, UserErrorException
from azureml.opendatasets import MNIST, Diabetes, NycTlcYellow
from support.web_server import WebServer

pytestmark = pytest.mark.shared_home

TITANIC = """PassengerId,Survived,Name,Age,Fare,Embarked
1,0,"Braund, Mr. Owen",22,7.25,S
2,1,"Cumings, Mrs. John",38,71.2833,C
3,1,"Heikkinen, Miss. Laina",,7.925,S
4,0,"Moran, Mr. James",,8.4583,
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "tables"
    root.mkdir()
    (root / "titanic.csv").write_text(TITANIC)
    for day in (1, 2, 3):
        below = root / f"weather/2021/01/{day:02d}"
        below.mkdir(parents=True)
        lines = "".join(f"2021-01-{day:02d} {hour:02d}:30:00,{day}.{hour:02d}\n" for hour in (0, 12))
        (below / "data.csv").write_text("when,temperature\n" + lines)
    return root


@pytest.fixture
def store(workspace: Workspace, folder: Path) -> Any:
    return Datastore.register_folder(workspace, "tables", str(folder))


@pytest.fixture
def titanic(store: Any) -> TabularDataset:
    return Dataset.Tabular.from_delimited_files((store, "titanic.csv"))


def weather(store: Any) -> TabularDataset:
    made = Dataset.Tabular.from_delimited_files(
        (store, "weather/**/data.csv"), partition_format="{day:yyyy/MM/dd}/data.csv"
    )
    return made.with_timestamp_columns("when", "day")


def test_delimited_files(titanic: TabularDataset) -> None:
    assert isinstance(titanic, TabularDataset)
    assert Dataset.Tabular is TabularDatasetFactory
    df = titanic.to_pandas_dataframe()
    assert list(df.columns) == ["PassengerId", "Survived", "Name", "Age", "Fare", "Embarked"]
    assert df["Age"].dtype == "float64" and df["PassengerId"].dtype == "int64"
    assert df["Name"][0] == "Braund, Mr. Owen"
    assert titanic.take(3).to_pandas_dataframe()["PassengerId"].tolist() == [1, 2, 3]
    assert titanic.skip(3).to_pandas_dataframe()["PassengerId"].tolist() == [4]


def test_a_notebook_shows_the_first_rows(titanic: TabularDataset, store: Any) -> None:
    shown = titanic._repr_html_()
    assert "<td>TabularDataset</td>" in shown and "<td>Heikkinen, Miss. Laina</td>" in shown
    missing = Dataset.Tabular.from_delimited_files((store, "nowhere.csv"), validate=False)
    assert "nowhere.csv" in missing._repr_html_()


def test_selecting_rows_and_columns(titanic: TabularDataset) -> None:
    old = titanic.filter((titanic["Age"] > 30) | titanic["Name"].contains("James"))
    assert old.keep_columns(["Name", "Age"]).to_pandas_dataframe().shape == (2, 2)
    assert titanic.filter(titanic["Embarked"].is_null()).to_pandas_dataframe()["PassengerId"].tolist() == [4]
    assert list(titanic.drop_columns(["Name", "Age"]).to_pandas_dataframe().columns) == [
        "PassengerId",
        "Survived",
        "Fare",
        "Embarked",
    ]
    first, second = titanic.random_split(0.5, seed=1)
    parts = [part.to_pandas_dataframe()["PassengerId"].tolist() for part in (first, second)]
    assert sorted(parts[0] + parts[1]) == [1, 2, 3, 4]
    assert parts[0] == titanic.random_split(0.5, seed=1)[0].to_pandas_dataframe()["PassengerId"].tolist()
    sampled = titanic.take_sample(0.5)
    assert sampled.to_pandas_dataframe().equals(sampled.to_pandas_dataframe())


def test_types_paths_and_headers(store: Any, folder: Path) -> None:
    types = {"PassengerId": DataType.to_string(), "Survived": DataType.to_bool(), "Fare": DataType.to_float()}
    made = Dataset.Tabular.from_delimited_files((store, "titanic.csv"), set_column_types=types, include_path=True)
    df = made.to_pandas_dataframe()
    assert df["Path"][0] == "/titanic.csv"
    assert df["PassengerId"][0] == "1" and df["Survived"].dtype == bool
    (folder / "bare.tsv").write_text("1\t2.1.2020\n")
    bare = Dataset.Tabular.from_delimited_files(
        (store, "bare.tsv"),
        separator="\t",
        header=PromoteHeadersBehavior.NO_HEADERS,
        set_column_types={"Column2": DataType.to_datetime(["%d.%m.%Y"])},
    )
    assert bare.to_pandas_dataframe()["Column2"][0] == pd.Timestamp("2020-01-02")
    with pytest.raises(UserErrorException, match="header is 'yes'"):
        Dataset.Tabular.from_delimited_files((store, "bare.tsv"), header="yes")


def test_values_that_do_not_fit_their_type(store: Any, folder: Path) -> None:
    (folder / "dirty.csv").write_text("n\n1\nx\n")
    made = Dataset.Tabular.from_delimited_files((store, "dirty.csv"), set_column_types={"n": DataType.to_long()})
    with pytest.warns(UserWarning, match="column 'n': 1 value is not a whole number and became null"):
        assert made.to_pandas_dataframe()["n"].isna().tolist() == [False, True]
    with pytest.raises(DatasetExecutionError, match=r"'x' in column 'n' of /dirty\.csv is not a whole number"):
        made.to_pandas_dataframe(on_error="fail")
    with pytest.raises(UserErrorException, match="on_error is 'ignore'"):
        made.to_pandas_dataframe(on_error="ignore")


def test_missing_files_and_columns(store: Any, titanic: TabularDataset) -> None:
    with pytest.raises(DatasetValidationError, match=r"no files found at 'nowhere\.csv'"):
        Dataset.Tabular.from_delimited_files((store, "nowhere.csv"))
    later = Dataset.Tabular.from_delimited_files((store, "nowhere.csv"), validate=False)
    with pytest.raises(DatasetExecutionError, match="no files found at"):
        later.to_pandas_dataframe()
    with pytest.raises(DatasetExecutionError, match="the column 'Agee' does not exist"):
        titanic.keep_columns("Agee").to_pandas_dataframe()
    with pytest.raises(DatasetExecutionError, match="column 'Name' is string and cannot be compared with 3"):
        titanic.filter(titanic["Name"] > 3).to_pandas_dataframe()
    with pytest.raises(UserErrorException, match=r"take\(-1\)"):
        titanic.take(-1)
    for refused in (titanic.mount, titanic.download, titanic.as_mount):
        with pytest.raises(UserErrorException, match="a tabular dataset has rows, not files"):
            refused()
    with pytest.raises(UserErrorException, match="tabular dataset"):
        titanic.as_named_input("t").as_mount()


def test_time(store: Any, titanic: TabularDataset) -> None:
    made = weather(store)
    assert made.timestamp_columns == ("when", "day") and made.partition_keys == ["day"]
    df = made.to_pandas_dataframe()
    assert isinstance(df.index, pd.DatetimeIndex) and "when" in df.columns and df.index.name is None
    noon = datetime(2021, 1, 2, 12, 30)

    def temperatures(table: TabularDataset) -> list[float]:
        return table.to_pandas_dataframe()["temperature"].tolist()

    assert temperatures(made.time_before(noon)) == [1.0, 1.12, 2.0, 2.12]
    assert temperatures(made.time_before(noon, include_boundary=False)) == [1.0, 1.12, 2.0]
    assert temperatures(made.time_after(noon)) == [2.12, 3.0, 3.12]
    assert temperatures(made.time_between(datetime(2021, 1, 1, 12), noon)) == [1.12, 2.0, 2.12]
    zoned = noon.replace(tzinfo=timezone(timedelta(hours=1)))
    assert temperatures(made.time_after(zoned)) == [2.12, 3.0, 3.12]
    assert temperatures(made.time_recent(timedelta(days=1))) == []
    assert temperatures(made.keep_columns(["when", "temperature"]).time_after(noon)) == [2.12, 3.0, 3.12]
    old = made.with_timestamp_columns(fine_grain_timestamp="when", coarse_grain_timestamp="day")
    assert old.timestamp_columns == ("when", "day")
    with pytest.raises(UserErrorException, match="1 is not a time span"):
        made.time_recent(1)  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(DatasetTimestampMissingError, match="no timestamp column"):
        made.drop_columns(["when", "day"]).time_after(noon)
    with pytest.raises(UserErrorException, match="column 'Name' is string, not a time"):
        titanic.with_timestamp_columns("Name", validate=True)


def test_files_of_excluded_partitions_are_not_read(store: Any, folder: Path) -> None:
    made = weather(store)
    (folder / "weather/2021/01/01/data.csv").write_text("when,temperature\nnot,a,table,at,all\n")
    kept = made.time_after(datetime(2021, 1, 2, 12))
    assert kept.to_pandas_dataframe()["temperature"].tolist() == [2.12, 3.0, 3.12]


def test_versions_pin_their_files(workspace: Workspace, titanic: TabularDataset, folder: Path, store: Any) -> None:
    registered = titanic.register(workspace, "titanic", description="people", tags={"year": "1912"})
    assert (registered.name, registered.version) == ("titanic", 1)
    found = Dataset.get_by_name(workspace, "titanic")
    assert isinstance(found, TabularDataset) and found.tags == {"year": "1912"}
    assert found.to_pandas_dataframe().equals(titanic.to_pandas_dataframe())
    assert isinstance(Dataset.get_by_id(workspace, registered.id), TabularDataset)
    assert isinstance(workspace.datasets["titanic"], TabularDataset)
    with pytest.raises(UserErrorException):
        titanic.register(workspace, "titanic")

    (folder / "titanic.csv").write_text(TITANIC + '5,1,"New, Mr.",30,1.5,S\n')
    assert found.verify().changed
    with pytest.raises(DatasetExecutionError, match="has changed since the dataset was registered"):
        found.take(1).to_pandas_dataframe()
    second = titanic.register(workspace, "titanic", create_new_version=True)
    assert second.version == 2 and len(second.to_pandas_dataframe()) == 5


def test_later_files_do_not_belong_to_an_earlier_version(workspace: Workspace, store: Any, folder: Path) -> None:
    old = weather(store).register(workspace, "weather")
    (folder / "weather/2021/01/04").mkdir()
    (folder / "weather/2021/01/04/data.csv").write_text("when,temperature\n2021-01-04 00:00:00,4\n")
    assert len(old.to_pandas_dataframe()) == 6 and len(old.skip(4).to_pandas_dataframe()) == 2
    assert len(weather(store).to_pandas_dataframe()) == 7


def test_tables_written_as_files(workspace: Workspace, titanic: TabularDataset, tmp_path: Path) -> None:
    files = titanic.filter(titanic["Age"] > 0).to_csv_files(separator=";")
    assert isinstance(files, FileDataset) and files.to_path() == ["/part-00000.csv"]
    (path,) = files.download(str(tmp_path / "csv"))
    assert pd.read_csv(path, sep=";")["PassengerId"].tolist() == [1, 2]
    (path,) = titanic.to_parquet_files().download(str(tmp_path / "parquet"))
    assert pd.read_parquet(path)["Name"].tolist() == titanic.to_pandas_dataframe()["Name"].tolist()
    table = Dataset.Tabular.from_parquet_files((workspace.get_default_datastore(), "tables/**/*.parquet"))
    assert table.take(1).to_pandas_dataframe()["Fare"].tolist() == [7.25]


def test_a_dataframe_is_registered(workspace: Workspace) -> None:
    df = pd.DataFrame({"n": [1, 2, 3], "t": ["a", None, "c"], "when": pd.to_datetime(["2020-01-01"] * 3)})
    target = (workspace.get_default_datastore(), "frames")
    made = Dataset.Tabular.register_pandas_dataframe(df, target, "frame", tags={"a": "b"}, show_progress=False)
    assert (made.name, made.version) == ("frame", 1)
    back = Dataset.get_by_name(workspace, "frame").to_pandas_dataframe()
    assert back["n"].tolist() == [1, 2, 3] and back["t"].isna().tolist() == [False, True, False]
    assert back["when"].dtype == "datetime64[ns]"
    again = Dataset.Tabular.register_pandas_dataframe(df, target, "frame", show_progress=False)
    assert again.version == 2


def test_json_lines(store: Any, folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"a": 1, "b": {"c": [1]}}\nno json\n')
    with pytest.raises(DatasetValidationError, match=r"line 2 of /a\.jsonl is not a JSON object"):
        Dataset.Tabular.from_json_lines_files((store, "a.jsonl"))
    made = Dataset.Tabular.from_json_lines_files((store, "a.jsonl"), invalid_lines="drop")
    assert made.to_pandas_dataframe()["b"].tolist() == [{"c": [1]}]


def test_a_query(workspace: Workspace, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE sales (id INTEGER, price REAL)")
        connection.executemany("INSERT INTO sales VALUES (?, ?)", [(i, i / 2) for i in range(10)])
    shop = Datastore.register_sql_database(workspace, "shop", "sqlite", str(tmp_path / "shop.db"))
    made = Dataset.Tabular.from_sql_query((shop, "SELECT * FROM sales WHERE price > 1"), query_timeout=5)
    registered = made.register(workspace, "sales")
    assert registered.filter(registered["id"] > 7).to_pandas_dataframe()["price"].tolist() == [4.0, 4.5]
    with pytest.raises(UserErrorException, match="is a database, which has rows, not files"):
        shop.upload(str(tmp_path))
    with pytest.raises(DatasetValidationError, match="no such table: nowhere"):
        Dataset.Tabular.from_sql_query((shop, "SELECT * FROM nowhere"))
    with pytest.raises(UserErrorException, match="dialect is 'oracle'"):
        Datastore.register_sql_database(workspace, "other", "oracle", "x")


def test_web_files_are_fetched_once(workspace: Workspace) -> None:
    server = WebServer()
    server.files["data/titanic.csv"] = TITANIC.encode()
    try:
        made = Dataset.Tabular.from_delimited_files(f"{server.address}/data/titanic.csv", include_path=True)
        df = made.to_pandas_dataframe()
        assert df["Path"][0] == f"{server.address}/data/titanic.csv" and len(df) == 4
        before = sum(seen.method == "GET" for seen in server.seen)
        assert made.filter(made["Age"] > 30).to_pandas_dataframe()["PassengerId"].tolist() == [2]
        assert sum(seen.method == "GET" for seen in server.seen) == before
        assert len(made.register(workspace, "web").to_pandas_dataframe()) == 4
        with pytest.raises(UserErrorException, match="the workspace for the files is unknown"):
            made.to_csv_files()
    finally:
        server.stop()


def test_a_profile(titanic: TabularDataset, workspace: Workspace) -> None:
    found = titanic.get_profile()
    run = titanic.submit_profile_run("local", Experiment(workspace, "profiles"))
    assert run.get_profile() == found and run.type == "azureml.scriptrun"
    age = next(column for column in found["columns"] if column["name"] == "Age")
    assert found["rows"] == 4
    assert (age["count"], age["missing"], age["min"], age["max"], age["mean"]) == (2, 2, 22, 38, 30.0)


SCRIPT = """
import json, sys
sys.modules["pyarrow"] = None  # the job has pandas, and no Arrow
from azureml.core import Dataset, Run
run = Run.get_context()
table = run.input_datasets["people"]
df = table.to_pandas_dataframe()
same = Dataset.get_by_id(run.experiment.workspace, id=sys.argv[1])
old = same.filter(same["Age"] > 30)
files = old.to_csv_files().download("csv")
told = {
    "kind": type(table).__name__, "ages": df["Age"].dropna().tolist(), "names": df["Name"].tolist(),
    "old": old.to_pandas_dataframe()["PassengerId"].tolist(), "csv": open(files[0]).read(),
}
json.dump(told, open("outputs/told.json", "w"))
"""


def test_missing_pandas_is_reported_before_anything_is_read(workspace: Workspace, folder: Path, store: Any) -> None:
    script = """
import sys
sys.modules["pandas"] = None
from azureml.core import Run
Run.get_context().input_datasets["people"].to_pandas_dataframe()
"""
    table = Dataset.Tabular.from_delimited_files((store, "titanic.csv"))
    argument = table.as_named_input("people")
    (folder / "titanic.csv").unlink()
    Path("src").mkdir()
    Path("src/script.py").write_text(script)
    environment = Environment("here")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    run = Experiment(workspace, "tables").submit(
        ScriptRunConfig("src", "script.py", ["--", argument], environment=environment)
    )
    run.wait_for_completion(raise_on_error=False)
    assert "a DataFrame needs pandas, which is not installed here" in str(run.get_details()["error"])


def test_tables_in_a_run(workspace: Workspace, titanic: TabularDataset, project: Path) -> None:
    environment = Environment("here")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    Path("src").mkdir()
    Path("src/script.py").write_text(SCRIPT)
    registered = titanic.register(workspace, "titanic")
    argument = registered.as_named_input("people")
    run = Experiment(workspace, "tables").submit(
        ScriptRunConfig("src", "script.py", [argument], environment=environment)
    )
    run.wait_for_completion()
    run.download_file("outputs/told.json", "told.json")
    told = json.loads(Path("told.json").read_text())
    assert told["kind"] == "TabularDataset"
    assert told["ages"] == [22, 38] and told["names"][0] == "Braund, Mr. Owen"
    assert told["old"] == [2] and "Cumings" in told["csv"]


def test_no_warnings_without_problems(titanic: TabularDataset) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        titanic.to_pandas_dataframe(on_error="fail", out_of_range_datetime="fail")


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """A mirror of Azure's public files."""
    server = WebServer()
    monkeypatch.setenv("FOOTPLATE_OPEN_DATASETS", server.address)
    yield server
    server.stop()


def publish(server: WebServer, container: str, files: dict[str, bytes]) -> None:
    blobs = "".join(f"<Blob><Name>{name}</Name></Blob>" for name in files)
    server.serve(container, f"<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>".encode())
    for name, data in files.items():
        server.serve(f"{container}/{name}", data)


def test_open_datasets_are_downloaded_once(workspace: Workspace, public: WebServer, tmp_path: Path) -> None:
    def rides(month: int) -> bytes:
        times = [datetime(2018, month, day, tzinfo=timezone.utc) for day in (1, 5, 9)]
        pd.DataFrame({"tpepPickupDateTime": times, "fare": [month + 0.0] * 3}).to_parquet(tmp_path / "rides")
        return (tmp_path / "rides").read_bytes()

    names = {month: f"yellow/puYear=2018/puMonth={month}/part.parquet" for month in (4, 5, 6)}
    publish(public, "nyctlc", {name: rides(month) for month, name in names.items()})
    publish(public, "mlsamples", {"diabetes/diabetes.csv": b"AGE,Y\n59,151\n48,75\n"})
    parts = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    for name in parts:
        public.serve(f"mnist/{name}-ubyte.gz", name.encode())
    public.serve("mnist/processed/t10k.csv", b"label,0\n7,255\n")
    for _ in range(2):
        assert Diabetes.get_tabular_dataset().to_pandas_dataframe()["Y"].tolist() == [151, 75]
        some = NycTlcYellow(datetime(2018, 5, 4), datetime(2018, 6, 3)).to_pandas_dataframe()
        assert some["fare"].tolist() == [5.0, 5.0, 6.0]
    for name in ("mlsamples/diabetes/diabetes.csv", f"nyctlc/{names[5]}"):
        assert len([one for one in public.asked(name) if "Range" not in one.headers]) == 1, name
    assert not public.asked(f"nyctlc/{names[4]}")  # its month is outside
    digits = MNIST.get_file_dataset().download(str(tmp_path / "digits"))
    assert sorted(os.path.basename(path) for path in digits) == sorted(f"{name}-ubyte.gz" for name in parts)
    assert MNIST.get_tabular_dataset(dataset_filter="test").to_pandas_dataframe()["label"].tolist() == [7]
    with pytest.raises(UserErrorException, match="dataset_filter is 'validation'"):
        MNIST.get_file_dataset(dataset_filter="validation")


def test_open_datasets_read_files_that_the_user_provides(
    workspace: Workspace, tmp_path: Path, public: WebServer
) -> None:
    with pytest.raises(UserErrorException, match="Diabetes can neither be downloaded nor is it in a datastore"):
        Diabetes.get_tabular_dataset()
    publish(public, "mlsamples", {"diabetes/diabetes.csv": b"AGE,Y\n1,1\n"})  # the user's own copy comes first
    for name in ("Diabetes", "NycTlcYellow/2018"):
        (tmp_path / "open" / name).mkdir(parents=True)
    (tmp_path / "open" / "Diabetes" / "diabetes.csv").write_text("AGE,Y\n59,151\n48,75\n")
    times = [datetime(2018, 5, day, tzinfo=timezone.utc) for day in (1, 5, 9)]
    rides = pd.DataFrame({"tpepPickupDateTime": times, "totalAmount": [1.0, 2.0, 3.0]})
    rides.to_parquet(tmp_path / "open" / "NycTlcYellow" / "2018" / "rides.parquet")
    Datastore.register_folder(workspace, "opendatasets", str(tmp_path / "open"))
    assert Diabetes.get_tabular_dataset().to_pandas_dataframe()["Y"].tolist() == [151, 75]
    assert Diabetes.get_file_dataset().to_path() == ["/diabetes.csv"]
    some = NycTlcYellow(start_date=datetime(2018, 5, 4), end_date=datetime(2018, 5, 20)).to_pandas_dataframe()
    assert some["totalAmount"].tolist() == [2.0, 3.0] and "tpepPickupDateTime" in some
    with pytest.raises(UserErrorException, match="Diabetes has no column of dates"):
        Diabetes(start_date=datetime(2018, 5, 4)).to_pandas_dataframe()
