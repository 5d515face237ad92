"""Models."""

from __future__ import annotations

from footplate.lazy import lazy_submodules

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk.models import model as model
    from footplate.sdk.models import resource_configuration as resource_configuration
else:
    __getattr__ = lazy_submodules(__name__)
