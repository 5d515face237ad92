from footplate.sdk.sweep_run import HyperDriveRun
from footplate.sdk.tuning.config import HyperDriveConfig, HyperDriveRunConfig, PrimaryMetricGoal
from footplate.sdk.tuning.parameter_expressions import (
    choice,
    lognormal,
    loguniform,
    normal,
    qlognormal,
    qloguniform,
    qnormal,
    quniform,
    randint,
    uniform,
)
from footplate.sdk.tuning.policy import (
    BanditPolicy,
    EarlyTerminationPolicy,
    MedianStoppingPolicy,
    NoTerminationPolicy,
    TruncationSelectionPolicy,
)
from footplate.sdk.tuning.sampling import (
    BayesianParameterSampling,
    GridParameterSampling,
    HyperParameterSampling,
    RandomParameterSampling,
)

__all__ = [
    "BanditPolicy",
    "BayesianParameterSampling",
    "EarlyTerminationPolicy",
    "GridParameterSampling",
    "HyperDriveConfig",
    "HyperDriveRun",
    "HyperDriveRunConfig",
    "HyperParameterSampling",
    "MedianStoppingPolicy",
    "NoTerminationPolicy",
    "PrimaryMetricGoal",
    "RandomParameterSampling",
    "TruncationSelectionPolicy",
    "choice",
    "lognormal",
    "loguniform",
    "normal",
    "qlognormal",
    "qloguniform",
    "qnormal",
    "quniform",
    "randint",
    "uniform",
]
