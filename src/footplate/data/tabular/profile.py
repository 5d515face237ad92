"""Statistics of a table in one pass: counts, missing values, extremes, mean and deviation."""

from __future__ import annotations

import math
from typing import Any

from footplate.data.tabular.arrow import pa, pc
from footplate.data.tabular.engine import Table
from footplate.domain.tables import Json


def profile_of(table: Table) -> Json:
    columns = [_Profile(field.name, field.type) for field in table.schema]
    rows = 0
    for batch in table.batches():
        rows += batch.num_rows
        for column, values in zip(columns, batch.columns):
            column.add(values)
    return {"rows": rows, "columns": [column.summary() for column in columns]}


class _Profile:
    def __init__(self, name: str, kind: Any) -> None:
        self._name, self._kind = name, kind
        self._is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        self._is_ordered = self._is_number or pa.types.is_timestamp(kind) or pa.types.is_string(kind)
        self._count = self._missing = 0
        self._least: Any = None
        self._greatest: Any = None
        self._mean = self._spread = 0.0  # Welford's algorithm, batch by batch: sums of squares would lose precision

    def add(self, values: Any) -> None:
        if pa.types.is_float16(values.type):
            values = pc.cast(values, pa.float32())  # Arrow cannot compare float16
        missing: int = pc.sum(pc.is_null(values, nan_is_null=True)).as_py() or 0
        self._missing += missing
        fresh = len(values) - missing
        if fresh and self._is_number:
            self._add_moments(values, fresh)
        self._count += fresh
        if fresh and self._is_ordered:
            ends = pc.min_max(values).as_py()
            self._least = ends["min"] if self._least is None else min(self._least, ends["min"])
            self._greatest = ends["max"] if self._greatest is None else max(self._greatest, ends["max"])

    def _add_moments(self, values: Any, fresh: int) -> None:
        present = values.filter(pc.invert(pc.is_null(values, nan_is_null=True)))
        numbers = pc.cast(present, pa.float64(), safe=False)
        mean: float = pc.mean(numbers).as_py()
        spread: float = pc.variance(numbers).as_py() * fresh
        total = self._count + fresh
        step = mean - self._mean
        self._spread += spread + step * step * self._count * fresh / total
        self._mean += step * fresh / total

    def summary(self) -> Json:
        summary: Json = {"name": self._name, "type": str(self._kind), "count": self._count, "missing": self._missing}
        if self._is_ordered and self._count:
            summary.update(min=_plain(self._least), max=_plain(self._greatest))
        if self._is_number and self._count:
            deviation = math.sqrt(self._spread / (self._count - 1)) if self._count > 1 else None
            summary.update(mean=self._mean, standard_deviation=deviation)
        return summary


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
