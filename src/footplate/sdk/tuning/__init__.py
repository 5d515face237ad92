"""Sweeps, as `azureml.train.hyperdrive` names them.

parameter_expressions   choice(…), loguniform(…): the search space
sampling                how trials are drawn from it
policy                  when a trial is stopped early
config                  HyperDriveConfig, which brings them together and is submitted
exceptions              what Azure's code catches
"""
