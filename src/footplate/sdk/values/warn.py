"""Warnings that point at the user's own line, however deep in the SDK they arise."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any, Dict, Mapping, Optional, Type

_OURS = ("footplate.", "azureml.")


def warn_caller(text: str, category: Type[Warning] = UserWarning) -> None:
    """Warn about the nearest line on the stack that is not part of the SDK."""
    frame: Optional[FrameType] = sys._getframe()  # pyright: ignore[reportPrivateUsage]  # inspect takes 6 ms to import
    level = 0
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level + 1)


def without_effect(reason: str, **given: Any) -> Dict[str, str]:
    """Return the names of the options that were given, each with the reason why it has no effect."""
    return {name: reason for name, value in given.items() if value not in (None, False)}


def warn_without_effect(reasons: Mapping[str, str]) -> None:
    """Warn once about all options that have no effect here: name → reason."""
    if reasons:
        verb = "has" if len(reasons) == 1 else "have"
        warn_caller(f"{', '.join(reasons)} {verb} no effect here: {'; '.join(sorted(set(reasons.values())))}")
