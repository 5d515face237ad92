from footplate.sdk.mlflow.entry_points import get_portal_url

__all__ = ["get_portal_url"]
