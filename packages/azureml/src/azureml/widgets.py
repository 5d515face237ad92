from footplate.sdk.widgets import RunDetails

__all__ = ["RunDetails"]
