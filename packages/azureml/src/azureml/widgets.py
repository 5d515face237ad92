from __future__ import annotations

from footplate.sdk.widgets import RunDetails

__all__ = ["RunDetails"]
