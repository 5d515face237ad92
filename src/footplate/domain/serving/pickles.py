"""Recognizes objects that a later NumPy has saved, by the error that loading them raises. Pure."""

from __future__ import annotations

from typing import Optional

_SIGNS = ("No module named 'numpy._core", "is not a known BitGenerator module")
"""NumPy 2 renamed `numpy.core`, and saves classes of random generators where NumPy 1 saved their names."""


def numpy_hint(message: str, version: Optional[str]) -> Optional[str]:
    """Return the hint if this is what NumPy 1 raises for an object of NumPy 2; None if it is not.

    `version` is that of the NumPy that raised it, if it is known.
    """
    if not any(sign in message for sign in _SIGNS):
        return None
    return (
        f"the file was saved with NumPy 2, and this environment has NumPy {version or 1}: install the version that "
        "saved it (pip package 'numpy>=2'), or save the file again with 'numpy<2'"
    )
