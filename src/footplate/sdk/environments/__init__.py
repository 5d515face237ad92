"""Environments."""

from __future__ import annotations

from footplate.lazy import lazy_submodules

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk.environments import environment as environment
else:
    __getattr__ = lazy_submodules(__name__)
