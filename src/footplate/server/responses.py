"""Responses: values and errors as JSON that every parser accepts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, cast

from fastapi import Response

from footplate.domain.codec import to_json
from footplate.domain.floats import tag_float
from footplate.errors import FootplateError


def answer(value: Any, status: int = 200, *, tag_non_finite: bool = False) -> Response:
    """Return a value of `domain/`, or plain data, as a response.

    JSON has neither NaN nor infinity: they become null, or `{"float": "NaN"}` where the reader knows that form.
    """
    return Response(encode(value, tag_non_finite), status, media_type="application/json")


def answer_list(items: Iterable[Any], following: str | None = None, *, tag_non_finite: bool = False) -> Response:
    """Return a page of a list; `following` is the cursor of the next page."""
    return answer({"items": list(items), "next": following}, tag_non_finite=tag_non_finite)


def answer_error(error: FootplateError, status: int | None = None) -> Response:
    return answer({"error": error.to_wire()}, status or error.status)


def encode(value: Any, tag_non_finite: bool = False) -> bytes:
    # The C encoder walks plain data itself and calls back only for unknown types, so a long list of points costs no
    # Python per point. The walk that replaces numbers happens only if there is something to replace.
    try:
        text = json.dumps(value, default=_plain, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(to_json(value), tag_non_finite), default=_plain, separators=(",", ":"))
    return text.encode("ascii")


def _plain(value: Any) -> Any:
    names = getattr(value, "__dataclass_fields__", None)
    if names is not None:  # one level only: the encoder asks again for what is inside
        return {name: getattr(value, name) for name in names}
    plain = to_json(value)
    if plain is value:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return plain


def _finite(value: Any, tagged: bool) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return tag_float(value) if tagged else None
    if isinstance(value, dict):
        return {key: _finite(item, tagged) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_finite(item, tagged) for item in cast("list[Any]", value)]
    return value
