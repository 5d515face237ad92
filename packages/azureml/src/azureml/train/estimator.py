from footplate.sdk.estimators.distribution import Gloo, Mpi, Nccl, ParameterServer
from footplate.sdk.estimators.estimator import Estimator

__all__ = ["Estimator", "Gloo", "Mpi", "Nccl", "ParameterServer"]
