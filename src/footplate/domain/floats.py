"""Floats that JSON cannot represent. Separate from `codec` because a training script loads only this."""

from __future__ import annotations

import math
from typing import Any, Dict, cast

_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def tag_float(value: float) -> Dict[str, str]:
    """Return a form that cannot be confused with text: `{"float": "NaN"}`."""
    return {"float": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}


def untag_float(value: Any) -> Any:
    """Return the float that `tag_float` encoded; return every other value unchanged."""
    if not isinstance(value, dict):
        return value
    tagged = cast("Dict[str, Any]", value)
    return _NON_FINITE.get(tagged.get("float", ""), tagged) if len(tagged) == 1 else tagged
