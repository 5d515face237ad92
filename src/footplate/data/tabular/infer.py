"""Inference of a text column's type from all values of a sample."""

from __future__ import annotations

import re
from typing import Any

from footplate.data.tabular.arrow import pa, pc
from footplate.data.tabular.convert import MISSING, convert
from footplate.domain.tables.tabular import Json

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
