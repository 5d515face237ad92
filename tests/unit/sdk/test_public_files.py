"""Listing a public container, with a server that answers like Azure's Blob service."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from footplate import environ
from footplate.errors import Unavailable
from footplate.sdk import public_files

NAMES = [
    "yellow/_SUCCESS",
    *(f"yellow/puYear=2018/puMonth={month}/part-{month}.parquet" for month in range(1, 13)),
    "yellowish/other.parquet",
]


def test_a_server_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environ.OPEN_DATASETS, "http://127.0.0.1:9")
    with pytest.raises(Unavailable, match="cannot be listed"):
        public_files.list_files("nyctlc/yellow")
    with pytest.raises(Unavailable, match="cannot be read"):
        public_files.check("mnist/train-images-idx3-ubyte.gz")


@pytest.mark.parametrize(
    ("start", "end", "months"),
    [
        (datetime(2018, 5, 31), datetime(2018, 7, 1), [5, 6, 7]),
        (None, date(2018, 2, 3), [1, 2]),
        (datetime(2018, 12, 1), None, [12]),
        (datetime(2019, 1, 1), None, []),
        (None, None, [*range(1, 13)]),
    ],
)
def test_months_without_rows_are_left_out(start: Any, end: Any, months: list[int]) -> None:
    paths = [f"nyctlc/{name}" for name in NAMES[1:-1]]
    found = public_files.in_months([*paths, "nyctlc/readme.csv"], start, end)
    assert found == [*(f"nyctlc/yellow/puYear=2018/puMonth={m}/part-{m}.parquet" for m in months), "nyctlc/readme.csv"]
    assert public_files.in_months(["isd/ISDWeather/year=2018/month=3/a"], datetime(2018, 4, 1), None) == []
