from __future__ import annotations

from footplate.sdk.datastore import Datastore

__all__ = ["Datastore"]
