from __future__ import annotations

from footplate.sdk.data_type import PromoteHeadersBehavior

__all__ = ["PromoteHeadersBehavior"]
