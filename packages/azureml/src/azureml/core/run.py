from footplate.job.offline import OfflineRun as _OfflineRun
from footplate.sdk.context import _SubmittedRun
from footplate.sdk.run import Run, get_run

__all__ = ["Run", "_OfflineRun", "_SubmittedRun", "get_run"]
