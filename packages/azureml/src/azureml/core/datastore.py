from footplate.sdk.data.datastore import Datastore

__all__ = ["Datastore"]
