"""Times in the formats of Azure's API."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Optional


def utc_text(seconds: Optional[float]) -> Optional[str]:
    """Return a time as `2024-05-06T07:08:09.123456Z`."""
    if seconds is None:
        return None
    return utc_time(seconds).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def utc_time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def duration_text(seconds: float) -> str:
    """Return a duration as `0.4 s`, `42 s`, `3 min 5 s` or `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
