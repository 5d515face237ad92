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
