from __future__ import annotations

from footplate.sdk.datastore_kinds import AbstractDatastore

__all__ = ["AbstractDatastore"]
