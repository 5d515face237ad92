"""Values that can be logged, and the shapes that `get_metrics` returns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union, cast

from footplate.domain.floats import untag_float
from footplate.lazy import Deferred
from footplate.sdk.exceptions import AzureMLException, UserErrorException
from footplate.sdk.values.wrong_types import type_words

if TYPE_CHECKING:
    import logging
    import numbers

    from footplate.domain.replies import MetricSeries
else:
    logging, numbers = Deferred("logging"), Deferred("numbers")  # 5 ms that a script with plain metrics saves

Scalar = Union[float, int, str, bool, None]

# ── What may be logged ────────────────────────────────────────────────────────────────────────────────────────────────


def scalar(value: Any, name: object) -> Scalar:
    """Return `value` as a plain scalar. Numbers of other libraries are converted; any other object becomes its repr."""
    plain = _plain(value)
    if plain is not _NOT_PLAIN:
        return plain
    kind = type_words(value)
    if isinstance(value, (list, range)) or hasattr(value, "__next__"):
        raise UserErrorException(
            f"metric {name!r} is {kind}, but log takes a single value", hint="log several values with log_list"
        )
    logging.getLogger(__name__).warning("metric %r is %s; its repr is logged", name, kind)
    return repr(value)


def named_values(name: Any, value: Any) -> List[Tuple[str, Any]]:
    """Return the series of a dictionary of values, which is the name itself if there is no value."""
    if value is ...:
        if not isinstance(name, dict):
            raise UserErrorException(f"metric {name!r} has no value", hint="use log(name, value) or log({name: value})")
        return _flat("", cast("Dict[Any, Any]", name))
    if isinstance(name, dict):
        raise UserErrorException("metric names are a dict, and a value is given too", hint="use log({name: value})")
    return _flat(f"{name}/", value)


def _flat(prefix: str, values: Dict[Any, Any]) -> List[Tuple[str, Any]]:
    flat: List[Tuple[str, Any]] = []
    for key, value in values.items():
        if isinstance(value, dict):
            flat += _flat(f"{prefix}{key}/", cast("Dict[Any, Any]", value))
        else:
            flat.append((f"{prefix}{key}", value))
    return flat


def scalars(values: Any, name: str) -> List[Scalar]:
    """Return the elements of an iterable, each of which must be a scalar."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise AzureMLException(f"metric {name!r} is {type_words(values)}", hint="log_list takes a list")
    return [_cell(value, name) for value in cast("Iterable[Any]", values)]


def row(columns: Mapping[str, Any], name: str) -> Dict[str, Scalar]:
    if not columns:
        raise AzureMLException(f"the row for {name!r} has no columns", hint=f"log_row({name!r}, x=1, y=2)")
    return {str(key): _cell(value, f"{name}.{key}") for key, value in columns.items()}


def table(columns: Any, name: str) -> Dict[str, List[Scalar]]:
    """Return a dictionary of lists of equal length; a bare scalar counts as a list of one."""
    if not isinstance(columns, Mapping):
        raise AzureMLException(f"table {name!r} is {type_words(columns)}", hint="log_table takes a dict of lists")
    lists: Dict[str, List[Scalar]] = {}
    for key, value in cast("Mapping[Any, Any]", columns).items():
        plain = _plain(value)
        lists[str(key)] = scalars(value, f"{name}.{key}") if plain is _NOT_PLAIN else [cast("Scalar", plain)]
    lengths = {key: len(values) for key, values in lists.items()}
    if len(set(lengths.values())) > 1:
        raise AzureMLException(
            f"the columns of table {name!r} differ in length: {lengths}", hint="make all columns equally long"
        )
    return lists


def json_document(value: Any, name: str) -> str:
    """Return a JSON metric as text; `value` is a dict or JSON text."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError as error:
            raise UserErrorException(f"metric {name!r} is not valid JSON: {error}", error, hint=_JSON_HINT) from error
        return value
    try:
        return json.dumps(value, default=_json_default)
    except (TypeError, ValueError) as error:
        raise UserErrorException(
            f"metric {name!r} cannot be written as JSON: {error}", error, hint=_JSON_HINT
        ) from error


_JSON_HINT = "give a dictionary, or its JSON as a string"
_NOT_PLAIN: Any = object()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (float, int, str)):
        # Subclasses are reduced to the plain type: numpy's float64 is a float.
        for kind in (bool, int, float, str):
            if isinstance(value, kind):
                return kind(value)
        return None
    item = getattr(value, "item", None)
    if callable(item) and _elements(value) == 1:
        scalar_value = item()
        if isinstance(scalar_value, (bool, int, float, str)):
            return _plain(scalar_value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) or type(value).__name__ == "Decimal":
        return float(value)
    as_array = getattr(value, "numpy", None)  # TensorFlow's tensors have no `item`
    return _plain(as_array()) if callable(as_array) and item is None else _NOT_PLAIN


def _elements(value: Any) -> Optional[int]:
    """Return the number of elements of a number, array or tensor: numpy has `size`, torch `numel()`."""
    count = getattr(value, "numel", None)
    if callable(count):
        return int(count())  # pyright: ignore[reportArgumentType]
    size = getattr(value, "size", 1)
    return size if isinstance(size, int) else None


def _cell(value: Any, name: str) -> Scalar:
    plain = _plain(value)
    if plain is _NOT_PLAIN:
        raise AzureMLException(
            f"metric {name!r} holds {value!r}, which is {type_words(value)}",
            hint="use numbers, strings, booleans or None",
        )
    return plain


def _json_default(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type_words(value)} is not JSON")


# ── What get_metrics gives back ───────────────────────────────────────────────────────────────────────────────────────


def artifact_uri(run_id: str, path: str) -> str:
    return f"aml://artifactId/ExperimentRun/dcid.{run_id}/{path}"


def shapes(series: Sequence[MetricSeries], run_id: str) -> Dict[str, Any]:
    """Return `{name: value}`: a bare value if it was logged once, otherwise a list."""
    for one in series:
        if one.dropped:
            logging.getLogger(__name__).warning(
                "metric %r is a %s; %d values of another kind under this name are left out",
                one.name, one.kind, one.dropped,
            )  # fmt: skip
    return {one.name: _shape(one.kind, [point[2] for point in one.points], run_id) for one in series}


def _shape(kind: str, values: List[Any], run_id: str) -> Any:
    if kind == "table":
        return _table_shape(values)
    if kind == "list":
        values = [element for each in values for element in each]
    elif kind == "artifact":
        values = [artifact_uri(run_id, str(value["path"])) for value in values]
    values = [untag_float(value) for value in values]
    return values[0] if len(values) == 1 else values


def _table_shape(values: List[Mapping[str, Any]]) -> Dict[str, Any]:
    columns: Dict[str, List[Any]] = {}
    for part in values:
        for column, cell in part.items():
            cells = cast("List[Any]", cell) if isinstance(cell, list) else [cell]
            columns.setdefault(column, []).extend(untag_float(c) for c in cells)
    return {column: cells[0] if len(cells) == 1 else cells for column, cells in columns.items()}
