"""The steps of a definition, each a transformation of a stream of batches."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable
from typing import Any, Iterator

from footplate.data.tabular.arrow import pa, pc
from footplate.data.tabular.expressions import evaluate, no_column
from footplate.domain.tables import Json

Batches = Iterator[Any]


def apply(step: Json, batches: Batches) -> Batches:
    return _STEPS[step["do"]](step, batches)


def columns_after(step: Json, names: list[str]) -> list[str]:
    """Return the columns that a step leaves, in order. As on Azure, dropping an unknown column is not an error."""
    if step["do"] == "drop":
        return [name for name in names if name not in step["columns"]]
    if step["do"] != "keep":
        return names
    for name in step["columns"]:
        if name not in names:
            raise no_column(name, names)
    return list(step["columns"])


def mask(step: Json, batch: Any) -> Any:
    return evaluate(step["expression"], dict(zip(batch.schema.names, batch.columns)), batch.num_rows)


def _columns(step: Json, batches: Batches) -> Batches:
    """Select columns. The batches only have columns that a step or the result needs, so others may be missing."""
    for batch in batches:
        present = batch.schema.names
        if step["do"] == "keep":
            yield batch.select([name for name in step["columns"] if name in present])
        else:
            yield batch.select([name for name in present if name not in step["columns"]])


def _filter(step: Json, batches: Batches) -> Batches:
    for batch in batches:
        yield batch.filter(mask(step, batch))


def _skip(step: Json, batches: Batches) -> Batches:
    remaining: int = step["count"]
    for batch in batches:
        yield batch.slice(min(remaining, batch.num_rows))
        remaining = max(0, remaining - batch.num_rows)


def _take(step: Json, batches: Batches) -> Batches:
    remaining: int = step["count"]
    if not remaining:
        return
    for batch in batches:
        yield batch.slice(0, remaining)
        remaining -= batch.num_rows
        if remaining <= 0:
            return


def _sample(step: Json, batches: Batches) -> Batches:
    draw = random.Random(step["seed"]).random
    for batch in batches:
        yield batch.filter(pc.less(_draws(draw, batch.num_rows), step["probability"]))


def _split(step: Json, batches: Batches) -> Batches:
    draw = random.Random(step["seed"]).random
    for batch in batches:
        first = pc.less(_draws(draw, batch.num_rows), step["percentage"])
        yield batch.filter(first if step["first"] else pc.invert(first))


def _draws(draw: Callable[[], float], count: int) -> Any:
    """Return one number for each row, in row order: independent of the batch sizes."""
    numbers = array("d", (draw() for _ in range(count)))
    return pa.Array.from_buffers(pa.float64(), count, [None, pa.py_buffer(numbers)])


_STEPS: dict[str, Callable[[Json, Batches], Batches]] = {
    "keep": _columns,
    "drop": _columns,
    "filter": _filter,
    "skip": _skip,
    "take": _take,
    "sample": _sample,
    "split": _split,
}
