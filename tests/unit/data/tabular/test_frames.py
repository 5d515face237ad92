"""Round trips of frames: Arrow to buffers to pandas, in memory and through a file, and back."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

from footplate.content.frames import Frame, FrameFile, read_frame
from footplate.data.tabular.frame import batch_of, chunks_of, columns_for, schema_for
from footplate.errors import Broken
from footplate.sdk.data.dataframe import from_pandas, to_pandas
from footplate.sdk.exceptions import UserErrorException

TABLE = pa.table(
    {
        "i": pa.array([1, -2, 3], pa.int16()),
        "i?": pa.array([1, None, 3], pa.int64()),
        "f": pa.array([0.5, None, float("inf")], pa.float32()),
        "b": pa.array([True, False, True]),
        "b?": pa.array([True, None, False]),
        "t": pa.array(["x", "", "ü"]),
        "t?": pa.array([None, "x", "x"]),
        "when": pa.array([dt.datetime(2020, 1, 1, 12), None, dt.datetime(1960, 5, 5)], pa.timestamp("ms")),
        "zoned": pa.array([dt.datetime(2020, 1, 1)] * 3, pa.timestamp("us", "Europe/Berlin")),
        "day": pa.array([dt.date(2020, 1, 31), None, dt.date(1900, 1, 1)]),
        "took": pa.array([dt.timedelta(seconds=5), None, dt.timedelta(days=-1)], pa.duration("us")),
        "money": pa.array([Decimal("1.50"), None, Decimal("-3.25")]),
        "raw": pa.array([b"\xff\0", None, b""]),
        "list": pa.array([[1, None], None, []], pa.list_(pa.int64())),
        "struct": pa.array([{"a": 1}, None, {"a": None}]),
        "kind": pa.array(["x", None, "y"]).dictionary_encode(),
        "time": pa.array([dt.time(10, 30), None, dt.time(0)]),
    }
)


def frame_of(table: Any, size: int = 2) -> Frame:
    frame = Frame(columns_for(table.schema))
    for batch in table.to_batches(max_chunksize=size):  # slices: every buffer has an offset
        frame.add(batch.num_rows, chunks_of(batch, frame.columns))
    return frame


def expected() -> pd.DataFrame:
    made = TABLE.to_pandas()
    for name in ("when", "took"):
        made[name] = made[name].astype("M8[ns]" if name == "when" else "m8[ns]")
    made["zoned"] = made["zoned"].astype("datetime64[ns, Europe/Berlin]")
    made["kind"] = made["kind"].astype(made["t"].dtype)
    return made


PLAIN = ["i", "i?", "f", "b", "b?", "t", "t?", "when", "zoned", "day", "took", "money", "raw", "kind"]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_frames_equal_arrows_own_conversion(size: int) -> None:
    made = to_pandas(frame_of(TABLE, size))
    assert_frame_equal(made.loc[:, PLAIN], expected().loc[:, PLAIN])
    assert made["list"].tolist() == [[1, None], None, []]
    assert made["struct"].tolist() == [{"a": 1}, None, {"a": None}]
    assert [None if pd.isna(v) else v for v in made["time"]] == ["10:30:00.000000", None, "00:00:00.000000"]


def test_frames_survive_a_file(tmp_path: Path) -> None:
    frame = frame_of(TABLE)
    with open(tmp_path / "frame", "wb") as out:
        file = FrameFile(out, frame.columns)
        for index in range(len(frame.columns[0].chunks)):
            file.add(frame.columns[0].chunks[index].rows, [c.chunks[index].buffers for c in frame.columns])
        file.finish()
    read = read_frame(str(tmp_path / "frame"))
    assert_frame_equal(to_pandas(read).loc[:, PLAIN], expected().loc[:, PLAIN])
    (tmp_path / "half").write_bytes((tmp_path / "frame").read_bytes()[:-9])
    with pytest.raises(Broken, match="is not a whole frame"):
        read_frame(str(tmp_path / "half"))


def test_times_outside_the_range_of_pandas() -> None:
    far = pa.table({"when": pa.array([dt.datetime(1, 1, 1), dt.datetime(2020, 1, 1)], pa.timestamp("us"))})
    assert to_pandas(frame_of(far))["when"].isna().tolist() == [True, False]
    with pytest.raises(UserErrorException, match=r"0001-01-01.* in column 'when' is outside"):
        to_pandas(frame_of(far), out_of_range_datetime="fail")


def test_frames_without_rows_or_columns() -> None:
    assert list(to_pandas(frame_of(TABLE.slice(0, 0))).columns) == TABLE.schema.names
    assert to_pandas(Frame([])).empty


FRAME = pd.DataFrame(
    {
        "i": [1, 2, 3],
        "f": [0.5, None, 2.0],
        "b": [True, False, True],
        "t": ["x", None, "ü"],
        "when": pd.to_datetime(["2020-01-01 00:00", None, "1960-05-05 12:00"]),
        "zoned": pd.to_datetime(["2020-01-01"] * 3).tz_localize("Europe/Berlin"),
        "took": pd.to_timedelta([5, None, 7], unit="s"),
        "c": pd.Categorical(["x", None, "y"]),
        "i?": pd.array([1, None, 3], dtype="Int64"),
        "b?": pd.array([True, None, False], dtype="boolean"),
        "o": [1, "x", None],
        "ob": [True, None, False],
        "oi": pd.Series([1, None, 3], dtype=object),
        "od": [dt.date(2020, 1, 31), None, dt.date(2021, 1, 1)],
    }
)


def written(frame: pd.DataFrame, folder: Path) -> pa.Table:
    """Write a DataFrame as a Parquet file in two batches, and return the file."""
    with open(folder / "frame", "wb") as out:
        from_pandas(frame, out, rows_at_a_time=2)
    held = read_frame(str(folder / "frame"))
    schema = schema_for(held)
    pq.write_table(pa.Table.from_batches([batch_of(held, i, schema) for i in range(2)]), folder / "a.parquet")
    return pq.read_table(folder / "a.parquet")


def test_from_pandas_and_back(tmp_path: Path) -> None:
    table = written(FRAME, tmp_path)
    back = pd.read_parquet(tmp_path / "a.parquet")
    assert back["i"].tolist() == [1, 2, 3]
    assert back["f"].isna().tolist() == [False, True, False]
    assert back["t"].fillna("-").tolist() == ["x", "-", "ü"]
    assert back["when"].astype("M8[ns]").equals(FRAME["when"].astype("M8[ns]"))
    assert str(back["zoned"].dt.tz) == "Europe/Berlin"
    assert back["took"].astype("m8[ns]").equals(FRAME["took"].astype("m8[ns]"))
    assert back["c"].fillna("-").tolist() == ["x", "-", "y"]
    assert table.column("i?").to_pylist() == [1, None, 3]
    assert table.column("b?").to_pylist() == [True, None, False]
    assert back["o"].fillna("-").tolist() == ["1", "x", "-"]
    assert table.column("ob").to_pylist() == [True, None, False]
    assert table.column("oi").to_pylist() == [1, None, 3]
    assert back["od"].dt.year.fillna(0).tolist() == [2020, 0, 2021]


@pytest.mark.parametrize(
    "values",
    [
        pd.Categorical([3, 1, 3]),
        pd.Categorical(pd.to_datetime(["2020-01-01", None, "2020-01-02"])),
        [b"\xff", None, b"a"],
        [Decimal("1.10"), None, Decimal("-1E+3")],
        [Decimal(10) ** 40, None, Decimal("0.001")],
        [[1, 2], None, []],
        [np.array([0.5]), None, np.array([1.5, 2.5])],
        [{"a": 1, "b": ["x"]}, None, {"a": 2, "b": []}],
        [dt.timedelta(seconds=1), None, dt.timedelta(days=1)],
        pd.arrays.SparseArray([1.0, None, 2.0]),
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_columns_of_objects_keep_their_values(tmp_path: Path, values: Any) -> None:
    back = written(pd.DataFrame({"o": values}), tmp_path).column("o").to_pylist()
    expected = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
    assert back == [None if value is not None and value != value else value for value in expected]


@pytest.mark.parametrize("values", [[{"a": 1}, None, ["a"]], [{}, None, {}], [{1, 2}, None, "x"]])
def test_objects_without_a_common_type_become_text(tmp_path: Path, values: list[Any]) -> None:
    column = written(pd.DataFrame({"o": values}), tmp_path).column("o")
    assert column.type == pa.string() and column.null_count == 1


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_times_beyond_nanosecond_range(tmp_path: Path, unit: str) -> None:
    times = np.array(["1500-01-01", "NaT", "3000-12-31T23:59:59"], f"M8[{unit}]")
    frame = pd.DataFrame({"t": times, "z": pd.DatetimeIndex(times).tz_localize("UTC"), "d": times - times[0]})
    table = written(frame, tmp_path)
    assert table.column("t").to_pylist() == [dt.datetime(1500, 1, 1), None, dt.datetime(3000, 12, 31, 23, 59, 59)]
    assert table.column("z").to_pylist()[0] == dt.datetime(1500, 1, 1, tzinfo=dt.timezone.utc)
    assert table.column("d").to_pylist()[2] == dt.datetime(3000, 12, 31, 23, 59, 59) - dt.datetime(1500, 1, 1)


def test_values_that_are_not_dataframes(tmp_path: Path) -> None:
    with open(tmp_path / "frame", "wb") as out, pytest.raises(UserErrorException, match="is a Series"):
        from_pandas(pd.Series([1]), out)


def test_column_labels_of_pandas(tmp_path: Path) -> None:
    with open(tmp_path / "frame", "wb") as out, pytest.raises(UserErrorException, match="two columns are named 'a'"):
        from_pandas(pd.DataFrame([[1, 2]], columns=["a", "a"]), out)
