"""MLflow's tracking, artifacts and model registry in a workspace: the plugin for addresses that begin with `azureml:`.

MLflow finds the plugin by entry points: those of the package `footplate-azureml`, and in jobs those that
`node/distributions` writes. Its stores are MLflow's own clients of a REST server whose requests are answered in this
process, by the SDK. So metrics go through the journal of the run, and nothing listens on a port.

entry_points  the functions that MLflow loads; the other modules import MLflow
addresses     `azureml://…` addresses of workspaces, runs and models
rest          the answer to a request; runs, experiments and errors as MLflow's JSON
tracking      experiments, runs, and the models of MLflow 3
registry      registered models
artifacts     files of runs and of models
"""
