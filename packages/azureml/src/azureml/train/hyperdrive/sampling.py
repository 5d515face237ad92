from footplate.sdk.tuning.sampling import (
    BayesianParameterSampling,
    GridParameterSampling,
    HyperParameterSampling,
    RandomParameterSampling,
)

__all__ = ["BayesianParameterSampling", "GridParameterSampling", "HyperParameterSampling", "RandomParameterSampling"]
