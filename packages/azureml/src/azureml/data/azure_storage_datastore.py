from footplate.sdk.data.datastore_kinds import AzureBlobDatastore, AzureFileDatastore

__all__ = ["AzureBlobDatastore", "AzureFileDatastore"]
