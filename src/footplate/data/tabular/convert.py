"""Conversion of a column to a type, and inference of the type of text. Values that do not fit become null and count.

The fast path is one cast by Arrow. If that fails for a batch, each distinct value is parsed by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import Any, NamedTuple

from footplate.data.tabular.arrow import pa, pc
from footplate.domain.tables import Json

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


_WHOLE = r"^\s*[+-]?[0-9]+\s*$"
_WORDS = pa.array(["true", "false"])
_MISSING = pa.array(sorted(MISSING))
_DATE = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(.*)", re.DOTALL)
_CLOCKS = {
    "": "",
    r"[ T]\d{1,2}:\d{2}": "%H:%M",
    r"[ T]\d{1,2}:\d{2}:\d{2}": "%H:%M:%S",
    r" \d{1,2}:\d{2} ?[AaPp][Mm]": "%I:%M %p",
    r" \d{1,2}:\d{2}:\d{2} ?[AaPp][Mm]": "%I:%M:%S %p",
}
_FEW = 1000


def infer(values: Any) -> Json:
    """Return the narrowest type that fits every value of the sample; text if there are no values."""
    texts = pc.drop_null(values)
    texts = pc.filter(texts, pc.invert(pc.is_in(pc.utf8_trim_whitespace(texts), value_set=_MISSING)))
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if not len(texts):
        return {"type": "string"}
    if _all(pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(texts)), value_set=_WORDS)):
        return {"type": "boolean"}
    if _all(pc.match_substring_regex(texts, _WHOLE)):
        # Digits beyond int64 are an identifier: as a float it would lose its last digits.
        return {"type": "integer"} if _fits(texts, {"type": "integer"}) else {"type": "string"}
    for column_type in ({"type": "float"}, {"type": "datetime"}):
        if _fits(texts, column_type):
            return column_type
    return _infer_date_format(texts) or {"type": "string"}


def _all(flags: Any) -> bool:
    return bool(pc.all(flags).as_py())


def _fits(values: Any, wanted: Json) -> bool:
    few = values.slice(0, _FEW)  # most columns that do not fit fail early
    return all(convert(part, wanted).misfits == 0 for part in (few, values))


def _infer_date_format(values: Any) -> Json | None:
    """Infer dates such as `31/12/2020 23:59`, if the values distinguish the day from the month."""
    texts: list[str] = pc.unique(values).to_pylist()
    first = _DATE.fullmatch(texts[0].strip())
    if first is None:
        return None
    matches = [_DATE.fullmatch(text.strip()) for text in texts]
    dates = [match for match in matches if match is not None]
    if len(dates) < len(matches):
        return None
    days_first = max(int(date[1]) for date in dates) > 12
    months_first = max(int(date[3]) for date in dates) > 12
    if days_first == months_first:  # ambiguous, or neither
        return None
    day_and_month = "%d{0}%m" if days_first else "%m{0}%d"
    clock = next((form for shape, form in _CLOCKS.items() if re.fullmatch(shape, first[5])), None)
    if clock is None:
        return None
    gap = first[5][0] if clock else ""
    if clock.endswith("%p") and " " not in first[5].strip():
        clock = clock.replace(" %p", "%p")
    form = day_and_month.format(first[2]) + first[2] + "%Y" + gap + clock
    column_type: Json = {"type": "datetime", "formats": [form]}
    return column_type if _fits(values, column_type) else None
