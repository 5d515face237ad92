"""Sweeps, as `azureml.train.hyperdrive` names them.

parameter_expressions   choice(…), loguniform(…): the search space; covered by `test_config`
sampling                how trials are drawn from it; covered by `test_config`
policy                  when a trial is stopped early; covered by `test_config`
config                  HyperDriveConfig, which brings them together and is submitted
submission              `experiment.submit` of a sweep; covered by `tests/e2e/test_sweeps.py`
warm_start              trials of earlier sweeps that teach the sampler; covered by `tests/e2e/test_sweeps.py`
optuna_study            sweeps as Optuna studies
sweep_file              sweeps in plain words, on a command line and in YAML
exceptions              exceptions that Azure's code catches
"""
