"""Warnings that point at the user's own line, however deep in the SDK they arise."""

from __future__ import annotations

import inspect
import warnings
from typing import Type

_OURS = ("footplate.", "azureml.")


def warn_caller(text: str, category: Type[Warning] = UserWarning) -> None:
    """Warn about the nearest line on the stack that is not part of the SDK."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level + 1)
