from __future__ import annotations

from footplate.sdk.runs.status import RunStatus

__all__ = ["RunStatus"]
