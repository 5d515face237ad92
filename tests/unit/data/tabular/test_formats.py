"""Parquet, JSON lines and SQL as sources."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from footplate.data.tabular.engine import Table
from footplate.data.tabular.files import SourceFile
from footplate.data.tabular.report import ReadReport
from footplate.errors import InvalidInput
from support.table_tools import field, local_file, op, rows, where, written


def definition(
    kind: str, *steps: dict[str, Any], types: dict[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    return {"format": {"kind": kind, **options}, "steps": list(steps), "types": types or {}}


def parquet(folder: Path, name: str, columns: dict[str, Any], **how: Any) -> SourceFile:
    pq.write_table(pa.table(columns), folder / name, **how)
    return local_file(folder / name, f"/{name}")


# ── Parquet ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    columns = {"n": pa.array([1, None], pa.int32()), "t": ["a", "b"], "l": [[1, 2], None]}
    table = Table(definition("parquet"), [parquet(tmp_path, "a.parquet", columns)])
    assert str(table.schema.field("n").type) == "int32"
    assert rows(table) == [{"n": 1, "t": "a", "l": [1, 2]}, {"n": None, "t": "b", "l": None}]


def test_parquet_row_groups_excluded_by_statistics_are_not_read(tmp_path: Path) -> None:
    file = parquet(tmp_path, "a.parquet", {"n": list(range(1000)), "m": ["x"] * 1000}, row_group_size=100)
    # Damage the pages of the first group: reading them would fail.
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    group = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0).column(0)
    begin = group.dictionary_page_offset or group.data_page_offset
    data[begin : begin + group.total_compressed_size] = b"\xff" * group.total_compressed_size
    (tmp_path / "a.parquet").write_bytes(data)
    kept = rows(Table(definition("parquet", where(op(">=", field("n"), 950))), [file]))
    assert [row["n"] for row in kept] == list(range(950, 1000))
    with pytest.raises(InvalidInput, match=r"/a\.parquet cannot be read as Parquet"):
        rows(Table(definition("parquet"), [file]))


def test_parquet_filters_are_not_moved_before_positional_steps(tmp_path: Path) -> None:
    file = parquet(tmp_path, "a.parquet", {"n": list(range(100))}, row_group_size=10)
    steps = ({"do": "take", "count": 20}, where(op(">", field("n"), 15)))
    assert [r["n"] for r in rows(Table(definition("parquet", *steps), [file]))] == [16, 17, 18, 19]


def test_partition_columns_of_parquet_files_are_text_unless_typed(tmp_path: Path) -> None:
    (tmp_path / "2020").mkdir()
    pq.write_table(pa.table({"n": [1]}), tmp_path / "2020/a.parquet")
    file = local_file(tmp_path / "2020/a.parquet", "/2020/a.parquet")
    form = {"format": {"kind": "parquet", "partition_format": "/{year}/a.parquet"}}
    assert rows(Table(form, [file])) == [{"year": "2020", "n": 1}]
    assert rows(Table({**form, "types": {"year": {"type": "integer"}}}, [file])) == [{"year": 2020, "n": 1}]


def test_parquet_files_that_differ(tmp_path: Path) -> None:
    files = [
        parquet(tmp_path, "1.parquet", {"a": pa.array([1], pa.int64()), "b": ["x"]}),
        parquet(tmp_path, "2.parquet", {"b": ["y"], "a": pa.array([2], pa.int32()), "c": [1.0]}),
        parquet(tmp_path, "3.parquet", {"a": pa.array([3], pa.int64())}),
    ]
    report = ReadReport()
    assert rows(Table(definition("parquet"), files), report) == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": "y"},
        {"a": 3, "b": None},
    ]
    assert ["column 'c' of /2.parquet is left out" in line for line in report.warnings()] == [True]
    files.append(parquet(tmp_path, "4.parquet", {"a": ["text"]}))
    with pytest.raises(InvalidInput, match=r"column 'a' is string in /4\.parquet and int64 in the first file"):
        rows(Table(definition("parquet"), files))


def test_parquet_files_may_differ_in_columns_with_a_requested_type(tmp_path: Path) -> None:
    contents = ([1, 2], [2.5, None], ["3", "x"], pa.nulls(1))
    files = [parquet(tmp_path, f"{at}.parquet", {"a": values}) for at, values in enumerate(contents)]
    asked = {"a": {"type": "float"}}
    report = ReadReport()
    found = rows(Table(definition("parquet", types=asked), files), report)
    assert [row["a"] for row in found] == [1.0, 2.0, 2.5, None, 3.0, None, None]
    assert ["1 value is not a number" in line for line in report.warnings()] == [True]
    texts = definition("parquet", where(op("==", field("a"), "2.5")), types={"a": {"type": "string"}})
    assert rows(Table(texts, files)) == [{"a": "2.5"}]


def test_an_all_null_parquet_column_takes_its_type_from_later_files(tmp_path: Path) -> None:
    files = [parquet(tmp_path, f"{at}.parquet", {"a": a}) for at, a in enumerate((pa.nulls(1), pa.nulls(1), ["x"]))]
    table = Table(definition("parquet"), files)
    assert str(table.schema.field("a").type) == "string"
    assert [row["a"] for row in rows(table)] == [None, None, "x"]


def test_parquet_times_of_other_units(tmp_path: Path) -> None:
    kinds = {"us": 1_500_000, "ns": 1_500_000_001, "s": 1}
    files = [
        parquet(tmp_path, f"{unit}.parquet", {"t": pa.array([value], pa.timestamp(unit))})
        for unit, value in kinds.items()
    ]
    half = datetime(1970, 1, 1, 0, 0, 1, 500_000)
    assert [row["t"] for row in rows(Table(definition("parquet"), files))] == [
        half,
        half,
        datetime(1970, 1, 1, 0, 0, 1),
    ]


def test_repeated_column_names(tmp_path: Path) -> None:
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(InvalidInput, match="2 columns are named 'a'"):
        Table(definition("parquet"), [local_file(tmp_path / "a.parquet", "/a.parquet")])


def test_filters_on_float16_are_not_pushed_to_arrow(tmp_path: Path) -> None:
    file = parquet(tmp_path, "a.parquet", {"h": pa.array([np.float16(0.5), np.float16(1.5)])})
    assert rows(Table(definition("parquet", where(op(">", field("h"), 1))), [file])) == [{"h": 1.5}]


def test_parquet_with_requested_types(tmp_path: Path) -> None:
    file = parquet(tmp_path, "a.parquet", {"n": [1.0, 2.5], "d": ["2020-01-31", "x"], "i": [1, 0]})
    types = {"n": {"type": "integer"}, "d": {"type": "datetime"}, "i": {"type": "boolean"}}
    report = ReadReport()
    found = rows(Table(definition("parquet", where(op("==", field("i"), True)), types=types), [file]), report)
    assert found == [{"n": 1, "d": datetime(2020, 1, 31), "i": True}]
    assert len(report.warnings()) == 2


def test_files_that_are_not_parquet(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"/a\.parquet cannot be read as Parquet"):
        Table(definition("parquet"), [written(tmp_path, "a.parquet", "a,b\n")])


# ── JSON lines ────────────────────────────────────────────────────────────────────────────────────────────────────────


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_json_lines(tmp_path: Path) -> None:
    text = lines({"a": 1, "b": "x", "c": {"d": [1, 2]}}, {"b": "y", "a": 2.5, "e": True}) + "\n"
    table = Table(definition("json_lines"), [written(tmp_path, "a.jsonl", text)])
    assert {f.name: str(f.type) for f in table.schema}["a"] == "double"
    assert rows(table) == [
        {"a": 1.0, "b": "x", "c": {"d": [1, 2]}, "e": None},
        {"a": 2.5, "b": "y", "c": None, "e": True},
    ]


def test_json_fields_of_mixed_types_are_text(tmp_path: Path) -> None:
    text = lines({"a": 1}, {"a": "x"}, {"a": [1, {"b": None}]}, {"a": None})
    table = Table(definition("json_lines"), [written(tmp_path, "a.jsonl", text)])
    assert [r["a"] for r in rows(table)] == ["1", "x", '[1, {"b": null}]', None]


def test_invalid_json_lines(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jsonl", '{"a": 1}\n{"a": 2\n[3]\n{"a": 4}\n')
    with pytest.raises(InvalidInput, match=r"line 2 of /a\.jsonl is not a JSON object"):
        Table(definition("json_lines"), [file])
    table = Table(definition("json_lines", invalid_lines="drop"), [file])
    assert [r["a"] for r in rows(table)] == [1, 4]


def test_json_fields_after_the_sample(tmp_path: Path) -> None:
    padding = "x" * 1000
    many = lines(*({"a": i, "p": padding} for i in range(9000)))
    text = many + lines({"a": 1.5, "p": padding, "late": 1}, {"a": "no", "p": 5})
    table = Table(definition("json_lines", {"do": "skip", "count": 9000}), [written(tmp_path, "a.jsonl", text)])
    report = ReadReport()
    assert rows(table, report) == [{"a": None, "p": padding}, {"a": None, "p": "5"}]
    assert [line.split(":")[0] for line in report.warnings()] == [
        "column 'a'",
        "column 'late' of /a.jsonl is left out",
    ]
    asked = definition("json_lines", {"do": "skip", "count": 9000}, types={"late": {"type": "integer"}})
    assert [r["late"] for r in rows(Table(asked, [written(tmp_path, "a.jsonl", text)]))] == [1, None]


def test_fields_of_json_objects_after_the_sample(tmp_path: Path) -> None:
    many = lines(*({"s": {"x": 1}, "l": [{"y": 1}], "p": "x" * 1000} for _ in range(9000)))
    text = many + lines({"s": {"x": 2, "late": 1}, "l": [{"y": 2, "later": 1}], "p": ""})
    table = Table(definition("json_lines", {"do": "skip", "count": 9000}), [written(tmp_path, "a.jsonl", text)])
    report = ReadReport()
    (batch,) = table.batches(report)
    assert batch.schema.equals(table.schema), "a batch of another type could not be written with the others"
    assert batch.to_pylist() == [{"s": {"x": 2}, "l": [{"y": 2}], "p": ""}]
    assert [line.split(" of ")[0] for line in report.warnings()] == ["column 's.late'", "column 'l.later'"]


def test_json_objects_without_fields_are_text(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jsonl", lines({"a": {}, "b": [{}]}, {"a": None, "b": [{}]}))
    table = Table(definition("json_lines"), [file])
    assert rows(table) == [{"a": "{}", "b": "[{}]"}, {"a": None, "b": "[{}]"}]


def test_half_a_surrogate_pair_in_json(tmp_path: Path) -> None:
    text = '{"a": "x\\ud800", "b": ["\\ud800"]}\n{"a": "\\ud83d\\ude00", "b": ["y"]}\n'
    table = Table(definition("json_lines"), [written(tmp_path, "a.jsonl", text)])
    assert [row["a"] for row in rows(table)] == ["x?", "😀"]


def test_json_in_another_encoding(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jsonl", '{"a": "ä"}\n'.encode("latin-1"))
    assert rows(Table(definition("json_lines", encoding="latin1"), [file])) == [{"a": "ä"}]
    with pytest.raises(InvalidInput, match="is not utf8"):
        Table(definition("json_lines"), [file])


# ── SQL ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def database(tmp_path: Path) -> str:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE sales (id INTEGER, name TEXT, price REAL)")
        connection.executemany("INSERT INTO sales VALUES (?, ?, ?)", [(i, f"n{i}", i / 2) for i in range(50_000)])
    return f"sqlite:///{tmp_path / 'shop.db'}"


def test_a_query(database: str) -> None:
    query = "SELECT id, price FROM sales WHERE name <> 'n0'"
    table = Table(definition("sql", where(op(">", field("price"), 24_998)), query=query), database=database)
    assert {f.name: str(f.type) for f in table.schema} == {"id": "int64", "price": "double"}
    assert [r["id"] for r in rows(table)] == [49_997, 49_998, 49_999]


def test_a_query_is_sent_verbatim(database: str) -> None:
    table = Table(definition("sql", query="SELECT '10% :x' AS t, 7 % 4 AS m"), database=database)
    assert rows(table) == [{"t": "10% :x", "m": 3}]


@pytest.mark.parametrize(
    ("query", "why"),
    [("DELETE FROM sales", "the query returns no rows"), ("SELECT id, id FROM sales", "2 columns are named 'id'")],
)
def test_queries_that_return_no_table(database: str, query: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        Table(definition("sql", query=query), database=database)
    assert len(rows(Table(definition("sql", query="SELECT id FROM sales"), database=database))) == 50_000


def test_a_query_with_requested_types(database: str) -> None:
    table = Table(
        definition("sql", query="SELECT id FROM sales LIMIT 1", types={"id": {"type": "string"}}), database=database
    )
    assert rows(table) == [{"id": "0"}]


def test_a_query_without_rows_has_columns(database: str) -> None:
    table = Table(definition("sql", query="SELECT * FROM sales WHERE id < 0"), database=database)
    assert table.schema.names == ["id", "name", "price"]
    assert rows(table) == []


def test_a_failing_query_shows_the_database_error(database: str) -> None:
    with pytest.raises(Exception, match="no such column: oops"):
        Table(definition("sql", query="SELECT oops FROM sales"), database=database)


def test_a_database_without_a_driver() -> None:
    with pytest.raises(InvalidInput, match="cannot be used from here") as caught:
        Table(definition("sql", query="SELECT 1"), database="nosuch://user:secret@host/db")
    assert "secret" not in str(caught.value)
