from __future__ import annotations

from footplate.sdk.keyvault import Keyvault

__all__ = ["Keyvault"]
