"""Conversion of a column to a type. Values that do not fit become null and are counted.

The fast path is one cast by Arrow. If that fails for a batch, each distinct value is parsed by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import Any, NamedTuple

from footplate.data.tabular.arrow import pa, pc
from footplate.domain.tables.tabular import Json

ARROW = {
    "string": pa.string(),
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "datetime": pa.timestamp("us"),
}
MISSING = frozenset(
    ("", "#N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "na", "nan", "null", "none")
)
"""Texts that mean "no value" in numeric, boolean and time columns. In a text column only the empty text does."""

_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
_SMALLEST = -(2**63)
_LARGEST = 2**63 - 1


class Converted(NamedTuple):
    """A column of the wanted type. `misfits` values became null in the conversion; `example` is the first."""

    values: Any
    misfits: int = 0
    example: str = ""


def convert(values: Any, wanted: Json) -> Converted:
    """Convert an Arrow array of any type to the type that `wanted` describes."""
    target = ARROW[wanted["type"]]
    if values.type == target:
        return Converted(values)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not pa.types.is_string(values.type):
        return _convert_typed(values, wanted)
    converted = _convert_batch(values, wanted)
    return Converted(converted) if converted is not None else _convert_values(values, wanted)


def _convert_typed(values: Any, wanted: Json) -> Converted:
    target = ARROW[wanted["type"]]
    if wanted["type"] == "datetime" and pa.types.is_timestamp(values.type):
        return Converted(pc.cast(values, target, safe=False))  # nanoseconds are truncated, as in pandas
    if wanted["type"] == "string" and (pa.types.is_nested(values.type) or pa.types.is_binary(values.type)):
        return Converted(pa.array([None if v is None else str(v) for v in values.to_pylist()], target))
    try:
        return Converted(pc.cast(values, target))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        texts = pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())
        return convert(texts, wanted)


# ── One cast for a whole batch ────────────────────────────────────────────────────────────────────────────────────────


def _convert_batch(values: Any, wanted: Json) -> Any:
    """Convert with Arrow's own parser, or return None if the values need a closer look."""
    try:
        return _BATCH_PARSERS[wanted["type"]](values, wanted)
    except pa.ArrowInvalid:
        return None


def _batch_integers(values: Any, wanted: Json) -> Any:
    texts = values.buffers()[2]  # all at once: checking each value takes as long as the cast
    data = texts.to_pybytes() if texts is not None else b""
    if b"x" in data or b"X" in data:
        return None  # Arrow reads hexadecimal numbers; pandas and Azure do not
    return pc.cast(values, pa.int64())


def _batch_floats(values: Any, wanted: Json) -> Any:
    if wanted.get("decimal_mark"):
        return None
    numbers = pc.cast(values, pa.float64())
    nan = pc.is_nan(numbers)
    return pc.if_else(nan, pa.scalar(None, pa.float64()), numbers) if pc.any(nan).as_py() else numbers


def _batch_datetimes(values: Any, wanted: Json) -> Any:
    formats: list[str] = wanted.get("formats") or []
    if not formats:
        try:
            return pc.cast(values, ARROW["datetime"])
        except pa.ArrowInvalid:
            return pc.cast(pc.cast(values, pa.timestamp("us", "UTC")), ARROW["datetime"])
    if len(formats) > 1 or "%f" in formats[0] or "%z" in formats[0].lower():
        return None
    times = pc.strptime(values, format=formats[0], unit="us", error_is_null=True)
    return times if times.null_count == values.null_count and not _has_rolled_over(values, times, wanted) else None


def _has_rolled_over(values: Any, parsed: Any, wanted: Json) -> bool:
    """Return whether strptime made 1 March of 30 February, or the next minute of second 60."""
    early = pc.less_equal(pc.day(parsed), 3)
    if any(clock in wanted["formats"][0] for clock in ("%S", "%T", "%r", "%X", "%c")):
        early = pc.or_(early, pc.less_equal(pc.second(parsed), 1))
    texts, times = values.filter(early), parsed.filter(early)
    back = pc.strftime(pc.cast(times, pa.timestamp("s")), format=wanted["formats"][0], locale="C")
    unlike = pc.not_equal(back, texts)  # most of these are equal: `1/2/2020` is the same day as `01/02/2020`
    if not pc.any(unlike).as_py():
        return False
    return not _convert_values(texts.filter(unlike), wanted).values.equals(times.filter(unlike))


_BATCH_PARSERS: dict[str, Callable[[Any, Json], Any]] = {
    "string": lambda values, wanted: values,
    "integer": _batch_integers,
    "float": _batch_floats,
    "boolean": lambda values, wanted: None,
    "datetime": _batch_datetimes,
}


# ── Value by value ────────────────────────────────────────────────────────────────────────────────────────────────────


def _convert_values(values: Any, wanted: Json) -> Converted:
    coded = values.dictionary_encode()
    texts: list[str] = coded.dictionary.to_pylist()
    parse = _parser(wanted)
    parsed: list[Any] = []
    bad: list[bool] = []
    for text in texts:
        stripped = text.strip()
        value = None if stripped in MISSING else parse(stripped)
        parsed.append(value)
        bad.append(value is None and stripped not in MISSING)
    converted = pc.take(pa.array(parsed, ARROW[wanted["type"]]), coded.indices)
    if not any(bad):
        return Converted(converted)
    misfits = pc.sum(pc.take(pa.array(bad), coded.indices)).as_py()
    return Converted(converted, misfits, texts[bad.index(True)])


def _parser(wanted: Json) -> Callable[[str], Any]:
    kind = wanted["type"]
    if kind == "integer":
        return _to_integer
    if kind == "boolean":
        return lambda text: _BOOLEANS.get(text.lower())
    if kind == "float":
        mark: str = wanted.get("decimal_mark") or "."
        if mark == ".":
            return _to_float
        return lambda text: None if "." in text else _to_float(text.replace(mark, "."))
    formats: tuple[str, ...] = tuple(wanted.get("formats") or ())
    return (lambda text: _to_time(text, formats)) if formats else iso_time


def _to_integer(text: str) -> int | None:
    if not text.isascii() or "_" in text:
        return None
    try:
        value = int(text)
    except ValueError:
        number = _to_float(text)  # programs that once held a whole number as a float write it as `3.0`
        return int(number) if number is not None and number.is_integer() and abs(number) <= 2**53 else None
    return value if _SMALLEST <= value <= _LARGEST else None


def _to_float(text: str) -> float | None:
    if not text.isascii() or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def iso_time(text: str) -> datetime | None:
    """Parse ISO 8601 as found in practice: T or space, optional seconds, fractions of any length, optional zone."""
    if len(text) < 10 or text[4] != "-" or text[7] != "-":
        return None
    head, dot, tail = text.partition(".")
    if dot:
        digits = len(tail) - len(tail.lstrip("0123456789"))
        text = f"{head}.{tail[:digits][:6].ljust(6, '0')}{tail[digits:]}"
    if text[-1] in "Zz":
        text = text[:-1] + "+00:00"
    try:
        return plain_utc(datetime.fromisoformat(text))
    except ValueError:
        return None


def _to_time(text: str, formats: Iterable[str]) -> datetime | None:
    for form in formats:
        try:
            return plain_utc(datetime.strptime(text, form))
        except ValueError:
            continue
    return None


def plain_utc(value: datetime) -> datetime:
    return value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value


def nested_type(values: list[Any]) -> Any:
    """Return the type of lists or objects, or text if they have no common type that a file can hold."""
    try:
        common_type = pa.array(values).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError):
        return pa.string()
    return pa.string() if pa.types.is_null(common_type) or _is_hollow(common_type) else common_type


def _is_hollow(kind: Any) -> bool:
    """Return whether the type contains an object without fields: Parquet has none, and later fields would be lost."""
    fields = [kind.field(at).type for at in range(kind.num_fields)]
    return (pa.types.is_struct(kind) and not fields) or any(map(_is_hollow, fields))
