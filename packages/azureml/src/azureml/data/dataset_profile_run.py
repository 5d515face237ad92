from footplate.sdk.profile_run import DatasetProfileRun

__all__ = ["DatasetProfileRun"]
