from __future__ import annotations

from footplate.sdk.exceptions import AzureMLException

__all__ = ["AzureMLException"]
