"""Config."""

from __future__ import annotations

from footplate.lazy import lazy_submodules

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk.config import workspace_file as workspace_file
else:
    __getattr__ = lazy_submodules(__name__)
