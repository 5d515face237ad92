from footplate.sdk.runs.status import RunStatus

__all__ = ["RunStatus"]
