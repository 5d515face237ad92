from __future__ import annotations

from ...unit.environments.conftest import wheels

__all__ = ["wheels"]
