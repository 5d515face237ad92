from footplate.sdk.data.datastore_kinds import AzureDataLakeGen2Datastore

__all__ = ["AzureDataLakeGen2Datastore"]
