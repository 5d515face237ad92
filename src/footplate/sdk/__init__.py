"""The Python SDK: the classes of Azure ML SDK v1 on a Footplate server.

    workspace, experiment, run          Workspace, Experiment, Run: they know all others
    context             `Run.get_context()`: the run that this process belongs to
    sweep_run, profile_run              HyperDriveRun, DatasetProfileRun
    pipelines/          Pipeline, its steps and its runs
    models/             Model, Webservice
    tuning/             sweeps
    estimators/         Estimator and its framework variants, the predecessors of ScriptRunConfig
    submission          from a configuration to a submitted run
    config/             ScriptRunConfig, RunConfiguration and the files they are read from
    compute/            ComputeTarget, AmlCompute
    environments/       Environment, CondaDependencies
    data/               Datastore, Dataset, inputs and outputs of runs
    keyvault            secrets of a workspace
    runs/               the bases of Run: logging, metrics, files, snapshots, waiting
    handles             the bases of Workspace and Experiment, for the packages below them
    job_workspace       the workspace of the job that this process belongs to
    session             the connection to the server; turns its errors into Azure's exceptions
    blob_transfer, local_files          uploads to and downloads from the server's content store
    values/, display/   values and errors about them; output for notebooks and terminals
    exceptions          Azure's exceptions
    unsupported, cloud_workspace        the parts of Azure's surface that Footplate does not have
    authentication, telemetry           parts of Azure's surface that have nothing to do here
    mlflow/             the plugin that keeps MLflow's runs in a workspace
    tensorboard, tensorboard_export     TensorBoard on the logs and on the metrics of runs
    widgets             `RunDetails` in notebooks
    open_datasets, public_files         Azure's open datasets: their classes, and their public files
    target_check        `footplate compute check`

The import-linter contract "Inside the SDK" in pyproject.toml has the order of these layers.

Standard library only, Python 3.8 syntax: jobs import it.
"""
