"""Signatures of samples."""

from __future__ import annotations

import pandas as pd
import pytest

from footplate.sdk.models.registration import signature_of


class Table:
    """A stand-in for a tabular dataset: only its data frame matters here."""

    def __init__(self, frame: pd.DataFrame | None) -> None:
        self.frame = frame

    def take(self, count: int) -> Table:
        return self

    def to_pandas_dataframe(self) -> pd.DataFrame:
        if self.frame is None:
            raise OSError("no such file")
        return self.frame


def test_columns_of_a_table_have_names_and_types() -> None:
    frame = pd.DataFrame({"n": [1], "x": [0.5], "ok": [True], "text": ["a"], "when": [pd.Timestamp(0)]})
    frame["maybe"] = pd.array([1], dtype="Int64")
    found = signature_of(Table(frame), None)["signature"]
    assert list(found) == ["inputs"]
    types = {column["name"]: column["dtype"] for column in found["inputs"]}
    expected = {"n": "int64", "x": "float64", "ok": "bool", "text": "object", "when": "object", "maybe": "object"}
    assert types == expected


def test_a_model_without_tables_has_no_signature() -> None:
    assert signature_of(None, None) == {}
    assert signature_of("a dataset of files", None) == {}


def test_a_sample_that_cannot_be_read_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="without a signature of its outputs: no such file"):
        assert signature_of(None, Table(None)) == {}
