from footplate.sdk.estimators.distribution import Gloo, Mpi, Nccl, ParameterServer
from footplate.sdk.estimators.frameworks import Chainer, PyTorch, TensorFlow

__all__ = ["Chainer", "Gloo", "Mpi", "Nccl", "ParameterServer", "PyTorch", "TensorFlow"]
