from footplate.sdk.exceptions import AzureMLException

__all__ = ["AzureMLException"]
