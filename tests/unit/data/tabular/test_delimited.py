from __future__ import annotations

import gzip
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from footplate.data.tabular.engine import Table
from footplate.data.tabular.files import SourceFile
from footplate.data.tabular.report import ReadReport
from footplate.errors import InvalidInput
from support.table_tools import delimited, field, frame, op, rows, where, written

PEOPLE = 'name,age,height,born,member\nAda,36,1.70,1815-12-10,true\n"Babbage, Charles",79,,1791-12-26,false\n'


def test_column_types_are_inferred(tmp_path: Path) -> None:
    table = Table(delimited(), [written(tmp_path, "people.csv", PEOPLE)])
    assert {f.name: str(f.type) for f in table.schema} == {
        "name": "string",
        "age": "int64",
        "height": "double",
        "born": "timestamp[us]",
        "member": "bool",
    }
    assert rows(table)[1] == {
        "name": "Babbage, Charles",
        "age": 79,
        "height": None,
        "born": datetime(1791, 12, 26),
        "member": False,
    }


def test_without_inference_everything_is_text(tmp_path: Path) -> None:
    table = Table(delimited(infer_types=False), [written(tmp_path, "people.csv", PEOPLE)])
    assert {str(f.type) for f in table.schema} == {"string"}
    assert rows(table)[0]["age"] == "36"


def test_stored_types_are_not_inferred_again(tmp_path: Path) -> None:
    file = written(tmp_path, "n.csv", "n\n1\n2\n")
    kept = {**delimited(), "inferred": Table(delimited(), [file]).inferred}
    written(tmp_path, "n.csv", "n\n1.5\nx\n")
    report = ReadReport()
    assert rows(Table(kept, [file]), report) == [{"n": None}, {"n": None}]
    assert report.warnings() == [
        "column 'n': 2 values are not a whole number and became null, the first is '1.5' in /n.csv"
    ]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2", ""], "int64"),
        (["1", "NA", "3"], "int64"),
        ([" 1", "+2"], "int64"),
        (["007", "8"], "int64"),
        (["99999999999999999999", "1"], "string"),  # as a float it would lose its last digits
        (["0x1F", "2"], "string"),
        (["1_000", "2"], "string"),
        (["1", "2.5"], "double"),
        (["1e3", "inf", "nan"], "double"),
        (["True", "FALSE", "null"], "bool"),
        (["yes", "no"], "string"),
        (["1", "0"], "int64"),
        (["2020-01-01", "2020-01-02 10:00:00"], "timestamp[us]"),
        (["2020-01-01T10:00:00Z", "2020-01-01T10:00:00+02:00"], "timestamp[us]"),
        (["31/12/2020", "01/02/2020"], "timestamp[us]"),
        (["12/31/2020 1:05 PM", "1/2/2020 12:00 AM"], "timestamp[us]"),
        (["01/02/2020", "03/04/2020"], "string"),  # ambiguous
        (["2020", "2021"], "int64"),
        (["", ""], "string"),
        (["NA", "NA"], "string"),
        (["a", "1"], "string"),
    ],
)
def test_inference(tmp_path: Path, values: list[str], kind: str) -> None:
    text = "x,keep\n" + "".join(f'"{value}",1\n' for value in values)
    table = Table(delimited(), [written(tmp_path, "x.csv", text)])
    assert str(table.schema.field("x").type) == kind
    report = ReadReport(strict=True)
    assert len(rows(table, report)) == len(values)


def test_dates_with_the_day_first_are_recognized(tmp_path: Path) -> None:
    table = Table(delimited(), [written(tmp_path, "d.csv", "d\n31/12/2020\n01/02/2020\n")])
    assert [row["d"] for row in rows(table)] == [datetime(2020, 12, 31), datetime(2020, 2, 1)]


def test_impossible_times_become_null(tmp_path: Path) -> None:
    text = "d,t\n30/02/2020,01/01/2020 23:59:60\n1/3/2020,02/01/2020 00:00:00\n,\n"
    types = {
        "d": {"type": "datetime", "formats": ["%d/%m/%Y"]},
        "t": {"type": "datetime", "formats": ["%d/%m/%Y %H:%M:%S"]},
    }
    report = ReadReport()
    found = rows(Table(delimited(types=types), [written(tmp_path, "a.csv", text)]), report)
    assert [row["d"] for row in found] == [None, datetime(2020, 3, 1), None]
    assert [row["t"] for row in found] == [None, datetime(2020, 1, 2), None]
    assert ["1 value is not a time" in line for line in report.warnings()] == [True, True]


def test_time_zones_become_utc(tmp_path: Path) -> None:
    table = Table(delimited(), [written(tmp_path, "d.csv", "d\n2020-01-01T10:00:00+02:00\n2020-01-01T10:00:00Z\n")])
    assert [row["d"].hour for row in rows(table)] == [8, 10]


def test_text_columns_keep_na(tmp_path: Path) -> None:
    table = Table(delimited(), [written(tmp_path, "c.csv", "country\nNA\nDE\n\n")])
    assert [row["country"] for row in rows(table)] == ["NA", "DE"]


def test_empty_fields_are_null_or_empty(tmp_path: Path) -> None:
    file = written(tmp_path, "e.csv", 'a,b\n,x\n"",y\n')
    assert [row["a"] for row in rows(Table(delimited(), [file]))] == [None, None]
    assert [row["a"] for row in rows(Table(delimited(empty_as_string=True), [file]))] == ["", ""]


def test_requested_types(tmp_path: Path) -> None:
    file = written(tmp_path, "t.csv", 'when,price,code,flag\n3.5.2021,"1,5",007,yes\nlater,x,8,2\n')
    types = {
        "when": {"type": "datetime", "formats": ["%d.%m.%Y"]},
        "price": {"type": "float", "decimal_mark": ","},
        "code": {"type": "string"},
        "flag": {"type": "boolean"},
    }
    report = ReadReport()
    found = rows(Table(delimited(types=types), [file]), report)
    assert found[0] == {"when": datetime(2021, 5, 3), "price": 1.5, "code": "007", "flag": True}
    assert found[1] == {"when": None, "price": None, "code": "8", "flag": None}
    assert len(report.warnings()) == 3


def test_strict_reading_names_column_value_and_file(tmp_path: Path) -> None:
    file = written(tmp_path, "t.csv", "n\n1\nx\n")
    with pytest.raises(InvalidInput, match=r"'x' in column 'n' of /t\.csv is not a whole number"):
        rows(Table(delimited(types={"n": {"type": "integer"}}), [file]), ReadReport(strict=True))


def test_a_type_for_an_unknown_column_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="the column 'nn' does not exist") as caught:
        Table(delimited(types={"nn": {"type": "integer"}}), [written(tmp_path, "t.csv", "n\n1\n")])
    assert "'n'" in (caught.value.hint or "")


# ── headers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_headers_of_several_files(tmp_path: Path) -> None:
    first, second = written(tmp_path, "1.csv", "a,b\n1,2\n"), written(tmp_path, "2.csv", "b,a\n3,4\n")
    assert rows(Table(delimited(), [first, second])) == [{"a": 1, "b": 2}, {"a": 4, "b": 3}]
    assert rows(Table(delimited(header="none"), [first]))[0] == {"Column1": "a", "Column2": "b"}
    headless = written(tmp_path, "3.csv", "5,6\n")
    assert rows(Table(delimited(header="first"), [first, headless])) == [{"a": 1, "b": 2}, {"a": 5, "b": 6}]


def test_differing_headers_are_combined_or_reported(tmp_path: Path) -> None:
    files = [written(tmp_path, "1.csv", "a,b\n1,2\n"), written(tmp_path, "2.csv", "b,c\n3,4\n")]
    combined = rows(Table(delimited(header="combine"), files))
    assert combined == [{"a": 1, "b": 2, "c": None}, {"a": None, "b": 3, "c": 4}]
    report = ReadReport()
    assert rows(Table(delimited(), files), report) == [{"a": 1, "b": 2}, {"a": None, "b": 3}]
    assert "column 'c' of /2.csv is left out" in report.warnings()[0]


def test_column_names_are_distinct(tmp_path: Path) -> None:
    table = Table(delimited(), [written(tmp_path, "d.csv", "a,a,,a.1\n1,2,3,4\n")])
    assert table.schema.names == ["a", "a.2", "Column3", "a.1"]


# ── what lies in files ────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_with_too_few_fields_end_in_nulls(tmp_path: Path) -> None:
    table = Table(delimited(), [written(tmp_path, "r.csv", "a,b,c\n1,2,3\n4,5\n6\n7,8,9,\n")])
    assert [list(row.values()) for row in rows(table)] == [[1, 2, 3], [4, 5, None], [6, None, None], [7, 8, 9]]


def test_a_row_with_too_many_fields_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"line 3 of /r\.csv has 4 fields instead of 3"):
        rows(Table(delimited(), [written(tmp_path, "r.csv", "a,b,c\n1,2,3\n4,5,6,7\n")]))


def test_a_ragged_row_late_in_a_large_file_loses_nothing(tmp_path: Path) -> None:
    count = 900_000  # more than two of Arrow's blocks
    text = "n,m\n" + "".join(f"{i},{i}\n" for i in range(count)) + "last\n"
    file = written(tmp_path, "big.csv", text)
    table = Table(delimited(types={"n": {"type": "string"}}), [file])
    found = [value for batch in table.batches() for value in batch.column("n").to_pylist()]
    assert found == [*map(str, range(count)), "last"]


def test_a_record_larger_than_a_block(tmp_path: Path) -> None:
    long = "x" * (9 * 1024 * 1024)
    table = Table(delimited(), [written(tmp_path, "long.csv", f'a,b\n1,"{long}"\n2,y\n')])
    assert [len(row["b"]) for row in rows(table)] == [len(long), 1]


def test_line_ends_and_line_breaks_inside_quotes(tmp_path: Path) -> None:
    table = Table(delimited(), [written(tmp_path, "q.csv", 'a,b\r\n1,"x\ny"\r\n2,"say ""hi"""\r\n')])
    assert [row["b"] for row in rows(table)] == ["x\ny", 'say "hi"']


@pytest.mark.parametrize("encoding", ["utf8", "utf16"])
@pytest.mark.parametrize(
    "record",
    [
        '2,x,"oh\n',  # Arrow makes one value of the rest
        '2,"oh,y\n',  # too few fields for Arrow
        '2,x,"oh ' + "x" * 5_000_000 + "\n",  # too large for Arrow's blocks
    ],
)
def test_an_unclosed_quote_is_an_error(tmp_path: Path, record: str, encoding: str) -> None:
    file = written(tmp_path, "q.csv", f"a,b,c\n1,y,z\n{record}3,y,z\n4,y,z\n".encode(encoding))
    for steps in ([], [{"do": "keep", "columns": ["a"]}]):
        table = Table(delimited(*steps, encoding=encoding, types={"a": {"type": "string"}}), [file])
        with pytest.raises(InvalidInput, match=r"q\.csv has an unclosed quote before 'oh"):
            rows(table)


@pytest.mark.parametrize("end", ['"x\ny"', '"x\ny"\n', '"x\ny" \r\n\n'])
def test_a_line_break_inside_the_last_quotes_of_a_file(tmp_path: Path, end: str) -> None:
    table = Table(delimited(), [written(tmp_path, "q.csv", f"a,b\n1,{end}")])
    assert [row["b"].strip() for row in rows(table)] == ["x\ny"]


@pytest.mark.parametrize("encoding", ["utf8", "latin1", "iso88591", "windows1252", "utf16", "utf32", "utf8bom"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    codec = {"utf8bom": "utf-8-sig", "windows1252": "cp1252", "iso88591": "latin-1"}.get(encoding, encoding)
    file = written(tmp_path, "e.csv", "größe,straße\n1,ä\n2,ö\n".encode(codec))
    assert rows(Table(delimited(encoding=encoding), [file])) == [
        {"größe": 1, "straße": "ä"},
        {"größe": 2, "straße": "ö"},
    ]


def test_a_wrong_encoding_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, "e.csv", "a\nä\n".encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"/e\.csv is not utf8") as caught:
        rows(Table(delimited(), [file]))
    assert "latin1" in (caught.value.hint or "")
    with pytest.raises(InvalidInput, match="'klingon' is not a supported encoding"):
        Table(delimited(encoding="klingon"), [file])


def test_compressed_files_are_decompressed(tmp_path: Path) -> None:
    assert rows(Table(delimited(), [written(tmp_path, "z.csv.gz", gzip.compress(b"a\n1\n"))])) == [{"a": 1}]


@pytest.mark.parametrize("content", [b"a\n1\n", gzip.compress(os.urandom(100_000).hex().encode())[:50_000]])
def test_files_that_cannot_be_decompressed_are_named(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"/z\.csv\.gz cannot be decompressed"):
        Table(delimited(), [written(tmp_path, "z.csv.gz", content)])


def test_a_compressed_file_that_is_truncated_later(tmp_path: Path) -> None:
    whole = gzip.compress(b"a\n" + b"".join(b"%d\n" % i for i in range(2_000_000)))
    table = Table({**delimited(), "inferred": {}}, [written(tmp_path, "z.csv.gz", whole)])
    (tmp_path / "z.csv.gz").write_bytes(whole[:-1000])
    with pytest.raises(InvalidInput, match=r"/z\.csv\.gz cannot be decompressed"):
        rows(table)


def test_an_archive_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"/z\.zip is an archive") as caught:
        Table(delimited(), [written(tmp_path, "z.zip", b"PK")])
    assert "extract it" in (caught.value.hint or "")


def test_other_separators(tmp_path: Path) -> None:
    assert rows(Table(delimited(separator="\t"), [written(tmp_path, "t.tsv", "a\tb\n1\tx,y\n")])) == [
        {"a": 1, "b": "x,y"}
    ]
    with pytest.raises(InvalidInput, match=r"'\|\|' is not a valid separator"):
        Table(delimited(separator="||"), [written(tmp_path, "t.txt", "a||b\n")])


def test_a_newline_as_separator_gives_one_column(tmp_path: Path) -> None:
    file = written(tmp_path, "lines.txt", 'first, line\n\n"quoted, ""twice"""\r\n"open, quote\n7')
    table = Table(delimited(separator="\n", header="none"), [file])
    assert table.schema.names == ["Column1"]
    assert [row["Column1"] for row in rows(table)] == ["first, line", 'quoted, "twice"', '"open, quote', "7"]
    assert rows(Table(delimited(separator="\n"), [written(tmp_path, "n.txt", "a,b\n1\n2")])) == [{"a,b": 1}, {"a,b": 2}]


def test_empty_files(tmp_path: Path) -> None:
    empty, full = written(tmp_path, "0.csv", ""), written(tmp_path, "1.csv", "a\n1\n")
    assert rows(Table(delimited(), [empty, full, empty])) == [{"a": 1}]
    assert rows(Table(delimited(), [written(tmp_path, "h.csv", "a,b\n")])) == []
    with pytest.raises(InvalidInput, match=r"/0\.csv is empty"):
        Table(delimited(), [empty])


# ── paths ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_path_and_partition_columns(tmp_path: Path) -> None:
    file = written(tmp_path, "sales/Accounts/2019/01/31/data.csv", "n\n1\n")
    form = "/{department}/{day:yyyy/MM/dd}/data.csv"
    table = Table(delimited(path_column=True, partition_format=form), [file])
    assert table.schema.names == ["Path", "department", "day", "n"]
    assert rows(table) == [
        {"Path": "/sales/Accounts/2019/01/31/data.csv", "n": 1, "department": "Accounts", "day": datetime(2019, 1, 31)}
    ]
    assert rows(Table({**delimited({"do": "keep", "columns": ["day"]}, partition_format=form)}, [file])) == [
        {"day": datetime(2019, 1, 31)}
    ]


def test_partition_columns_come_first_and_are_typed_as_the_others(tmp_path: Path) -> None:
    files = [written(tmp_path, f"{year}/{code}/a.csv", "n\n1\n") for year, code in ((2019, "07"), (2020, "x"))]
    form: dict[str, Any] = {"partition_format": "/{year}/{code}/a.csv"}
    table = Table(delimited(**form), files)
    assert table.schema.names == ["year", "code", "n"]
    assert [list(row.values()) for row in rows(table)] == [[2019, "07", 1], [2020, "x", 1]]
    assert table.inferred["year"] == {"type": "integer"}
    later = {**delimited(**form), "inferred": table.inferred}
    other = written(tmp_path, "soon/y/a.csv", "n\n1\n")
    report = ReadReport()
    assert rows(Table(later, [*files, other]), report)[2] == {"year": None, "code": "y", "n": 1}
    assert report.warnings() == [
        "column 'year': 1 value is not a whole number and became null, the first is 'soon' in /soon/y/a.csv"
    ]
    assert rows(Table(delimited(infer_types=False, **form), files))[0] == {"year": "2019", "code": "07", "n": "1"}
    asked = delimited(types={"year": {"type": "float"}}, **form)
    assert rows(Table(asked, files))[0]["year"] == 2019.0
    recent = delimited(where(op(">", field("year"), 2019)), **form)
    assert [row["year"] for row in rows(Table(recent, files))] == [2020]


def test_a_path_that_does_not_match_the_partition_format(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"the path '/a/b\.csv' does not match the partition format"):
        rows(Table(delimited(partition_format="{x}/{y}/{z}/data.csv"), [written(tmp_path, "a/b.csv", "n\n1\n")]))


def test_files_excluded_by_their_path_are_not_fetched(tmp_path: Path) -> None:
    kept = written(tmp_path, "2020/a.csv", "n\n1\n")

    def never() -> Path:
        raise AssertionError("fetched")

    step = where(op("and", op(">", field("n"), 0), op("==", field("year"), {"time": "2020-01-01T00:00:00"})))
    definition = {**delimited(step, partition_format="{year:yyyy}/*.csv"), "inferred": {"n": {"type": "integer"}}}
    table = Table(definition, [kept, SourceFile("/2021/a.csv", never)])
    assert [row["n"] for row in rows(table)] == [1]


def test_taking_a_few_rows_fetches_only_their_files(tmp_path: Path) -> None:
    def never() -> Path:
        raise AssertionError("fetched")

    files = [written(tmp_path, "1.csv", "n\n1\n2\n"), SourceFile("/2.csv", never)]
    definition = {**delimited({"do": "take", "count": 2}), "inferred": {"n": {"type": "integer"}}}
    assert rows(Table(definition, files)) == [{"n": 1}, {"n": 2}]


def test_a_sample_does_not_fetch_whole_files(tmp_path: Path) -> None:
    def never() -> Path:
        raise AssertionError("fetched")

    text = b"n,t\n" + b"1,abc\n" * 2_000_000
    table = Table(delimited(), [SourceFile("/far.csv", never, lambda limit: text[:limit])])
    assert {f.name: str(f.type) for f in table.schema} == {"n": "int64", "t": "string"}


def test_a_frame_without_rows_has_its_columns(tmp_path: Path) -> None:
    made = frame(Table(delimited(), [written(tmp_path, "h.csv", "a,b\n")]))
    assert list(made.columns) == ["a", "b"]
    assert len(made) == 0
