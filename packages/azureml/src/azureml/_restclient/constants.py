from __future__ import annotations

from footplate.sdk.status import RunStatus

__all__ = ["RunStatus"]
