from footplate.sdk.data.datastore_kinds import AbstractDatastore

__all__ = ["AbstractDatastore"]
