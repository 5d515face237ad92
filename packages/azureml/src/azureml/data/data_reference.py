from footplate.sdk.data.references import DataReference

__all__ = ["DataReference"]
