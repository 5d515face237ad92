"""Sweeps, as `azureml.train.hyperdrive` names them.

parameter_expressions   choice(…), loguniform(…): the search space
sampling                how trials are drawn from it
policy                  when a trial is stopped early
config                  HyperDriveConfig, which brings them together and is submitted
submission              `experiment.submit` of a sweep
optuna_study            sweeps as Optuna studies
sweep_file              sweeps in plain words, on a command line and in YAML
exceptions              exceptions that Azure's code catches
"""
