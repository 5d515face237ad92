"""Estimators, the predecessors of ScriptRunConfig. Each is converted to one when it is submitted.

estimator       Estimator
frameworks      TensorFlow, PyTorch, Chainer, SKLearn
inputs          script_params and inputs
environment     the environment that the parameters describe
distribution    Mpi, ParameterServer, Gloo, Nccl
equivalent      the ScriptRunConfig of an estimator as Python code, for the deprecation warning
"""
