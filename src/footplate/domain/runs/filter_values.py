"""Times and durations as users write them: '2h ago', '2024-05-31 10:00', 'yesterday', '10m'."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Optional

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)(?:ec|econd|in|inute|our|r|ay|eek)?s?", re.IGNORECASE)
_DAYS = {"today": 0, "yesterday": 1}


def read_seconds(text: str) -> Optional[float]:
    """Return the seconds of `90s`, `10m`, `1h30m`, `2 days`; None when it is not a duration."""
    rest = text.strip()
    total = 0.0
    if not rest:
        return None
    while rest:
        match = _DURATION.match(rest)
        if match is None:
            return None
        total += float(match[1]) * _UNITS[match[2].lower()]
        rest = rest[match.end() :].strip()
    return total


def read_time(text: str, now: float) -> Optional[float]:
    """Return the time as seconds since the epoch; None when it is not a time. A time without a zone is local."""
    words = text.strip().lower()
    if words == "now":
        return now
    if words.endswith(" ago"):
        passed = read_seconds(words[: -len(" ago")])
        return None if passed is None else now - passed
    if words in _DAYS:
        midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
        return (midnight - timedelta(days=_DAYS[words])).timestamp()
    try:
        return datetime.fromisoformat(text.strip().replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
