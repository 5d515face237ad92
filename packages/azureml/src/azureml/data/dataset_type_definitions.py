from footplate.sdk.data.column_types import PromoteHeadersBehavior

__all__ = ["PromoteHeadersBehavior"]
