"""Data."""

from __future__ import annotations

from footplate.lazy import lazy_submodules

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk.data import dataset as dataset
    from footplate.sdk.data import datastore as datastore
    from footplate.sdk.data import datastore_kinds as datastore_kinds
else:
    __getattr__ = lazy_submodules(__name__)
