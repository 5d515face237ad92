from __future__ import annotations

from footplate.sdk.datastore_kinds import AzureBlobDatastore, AzureFileDatastore

__all__ = ["AzureBlobDatastore", "AzureFileDatastore"]
