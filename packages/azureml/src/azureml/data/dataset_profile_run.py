from __future__ import annotations

from footplate.sdk.data.profile_run import DatasetProfileRun

__all__ = ["DatasetProfileRun"]
