"""Small tables for tests: files from text, definitions from a few arguments, DataFrames from definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from footplate.content.frames import Frame
from footplate.data.tabular.engine import Table
from footplate.data.tabular.files import SourceFile
from footplate.data.tabular.frame import chunks_of, columns_for
from footplate.data.tabular.report import ReadReport
from footplate.sdk.data.dataframe import to_pandas


def written(folder: Path, name: str, content: str | bytes) -> SourceFile:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return local_file(path, f"/{name}")


def local_file(path: Path, name: str) -> SourceFile:
    return SourceFile(name, lambda: path)


def delimited(*steps: dict[str, Any], types: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return {"format": {"kind": "delimited", **options}, "steps": list(steps), "types": types or {}}


def frame(table: Table, report: ReadReport | None = None, **how: Any) -> pd.DataFrame:
    made = Frame(columns_for(table.schema))
    for batch in table.batches(report):
        made.add(batch.num_rows, chunks_of(batch, made.columns))
    return to_pandas(made, **how)


def rows(table: Table, report: ReadReport | None = None) -> list[dict[str, Any]]:
    return [row for batch in table.batches(report) for row in batch.to_pylist()]


def field(name: str) -> dict[str, Any]:
    return {"field": name}


def op(name: str, *args: Any) -> dict[str, Any]:
    wrapped = [arg if isinstance(arg, dict) else {"value": arg} for arg in args]
    return {"op": name, "args": wrapped}


def where(expression: dict[str, Any]) -> dict[str, Any]:
    return {"do": "filter", "expression": expression}
