from __future__ import annotations

from footplate.sdk.tensorboard import Tensorboard

__all__ = ["Tensorboard"]
