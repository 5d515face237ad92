from __future__ import annotations

from footplate.sdk.model import Model

__all__ = ["Model"]
