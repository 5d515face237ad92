"""Every import path of Azure's SDK leads to Footplate's own object."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

from footplate.sdk.unsupported import PARTS

PATHS = {
    "azureml.core": (
        "Workspace Experiment Run ScriptRunConfig RunConfiguration Environment ComputeTarget Keyvault Model ScriptRun "
        "get_run Dataset Datastore Image Webservice ContainerRegistry"
    ),
    "azureml.core.workspace": "Workspace",
    "azureml.core.experiment": "Experiment",
    "azureml.core.run": "Run get_run _OfflineRun _SubmittedRun",
    "azureml.core.script_run": "ScriptRun",
    "azureml.core.script_run_config": "ScriptRunConfig get_run_config_from_script_run",
    "azureml.core.runconfig": (
        "RunConfiguration CondaDependencies MpiConfiguration PyTorchConfiguration TensorflowConfiguration "
        "DockerConfiguration Environment EnvironmentDefinition DataReferenceConfiguration HistoryConfiguration "
        "AmlComputeConfiguration ApplicationEndpointConfiguration HdiConfiguration KubernetesComputeConfiguration "
        "ParallelTaskConfiguration SparkConfiguration ContainerRegistry DockerSection PythonSection SparkPackage "
        "SparkSection Data DataLocation Dataset"
    ),
    "azureml.core.conda_dependencies": "CondaDependencies",
    "azureml.core.environment": (
        "Environment EnvironmentDefinition CondaDependencies ContainerRegistry DockerSection DockerBuildContext "
        "DockerImageDetails DockerImagePlatform ImageBuildDetails PythonSection RSection SparkSection SparkPackage "
        "DatabricksSection"
    ),
    "azureml.core.container_registry": "ContainerRegistry",
    "azureml.core.databricks": "DatabricksSection",
    "azureml.core.compute": "ComputeTarget AmlCompute",
    "azureml.core.compute.adla": "AdlaCompute",
    "azureml.core.compute.aks": "AksCompute",
    "azureml.core.compute.amlcompute": "AmlCompute",
    "azureml.core.compute.batch": "BatchCompute",
    "azureml.core.compute.compute": "ComputeTarget",
    "azureml.core.compute.computeinstance": "ComputeInstance",
    "azureml.core.compute.databricks": "DatabricksCompute",
    "azureml.core.compute.datafactory": "DataFactoryCompute",
    "azureml.core.compute.dsvm": "DsvmCompute",
    "azureml.core.compute.hdinsight": "HDInsightCompute",
    "azureml.core.compute.kubernetescompute": "KubernetesCompute",
    "azureml.core.compute.remote": "RemoteCompute",
    "azureml.core.compute.synapse": "SynapseCompute",
    "azureml.core.compute_target": "AbstractComputeTarget ComputeTargetException LocalTarget",
    "azureml.core.dataset": "Dataset",
    "azureml.core.datastore": "Datastore",
    "azureml.core.image": "ContainerImage Image",
    "azureml.core.image.container": "ContainerImage",
    "azureml.core.image.image": "Image",
    "azureml.pipeline.core": "Pipeline PipelineData PipelineParameter PipelineRun StepRun StepSequence PipelineStep",
    "azureml.pipeline.core.builder": "PipelineData PipelineStep StepSequence",
    "azureml.pipeline.core.graph": "PipelineData PipelineParameter",
    "azureml.pipeline.core.pipeline": "Pipeline",
    "azureml.pipeline.core.pipeline_output_dataset": "PipelineOutputFileDataset",
    "azureml.pipeline.core.run": "PipelineRun PortDataReference StepRun StepRunOutput",
    "azureml.pipeline.steps": "CommandStep EstimatorStep MpiStep PythonScriptStep DatabricksStep",
    "azureml.core.keyvault": "Keyvault",
    "azureml.core.model": "InferenceConfig Model ModelPackage",
    "azureml.core.profile": "ModelProfile",
    "azureml.core.resource_configuration": "ResourceConfiguration",
    "azureml.core.webservice": "AciWebservice AksWebservice LocalWebservice Webservice",
    "azureml.core.webservice.aci": "AciServiceDeploymentConfiguration AciWebservice",
    "azureml.core.webservice.aks": "AksEndpoint AksServiceDeploymentConfiguration AksWebservice",
    "azureml.core.webservice.local": "LocalWebservice LocalWebserviceDeploymentConfiguration",
    "azureml.core.webservice.webservice": "Webservice WebserviceDeploymentConfiguration WebserviceException",
    "azureml.core.authentication": (
        "InteractiveLoginAuthentication ServicePrincipalAuthentication AzureCliAuthentication MsiAuthentication"
    ),
    "azureml.contrib.notebook": "NotebookRunConfig",
    "azureml.mlflow": "get_portal_url",
    "azureml.contrib.services.aml_request": "AMLRequest rawhttp",
    "azureml.contrib.services.aml_response": "AMLResponse",
    "azureml.contrib.tensorboard": "Tensorboard",
    "azureml.contrib.tensorboard.export": "export_to_tensorboard",
    "azureml.opendatasets": "MNIST BostonSafety ChicagoSafety Diabetes NoaaGfsWeather NoaaIsdWeather NycSafety "
    "NycTlcFhv NycTlcGreen NycTlcYellow OjSalesSimulated PublicHolidays PublicHolidaysOffline SanFranciscoSafety "
    "SeattleSafety UsPopulationCounty UsPopulationZip",
    "azureml.tensorboard": "Tensorboard",
    "azureml.tensorboard.export": "export_to_tensorboard",
    "azureml.data": "DataType FileDataset OutputFileDatasetConfig TabularDataset",
    "azureml.data.abstract_dataset": "AbstractDataset",
    "azureml.data.abstract_datastore": "AbstractDatastore",
    "azureml.data.azure_data_lake_datastore": "AzureDataLakeGen2Datastore",
    "azureml.data.azure_storage_datastore": "AzureBlobDatastore AzureFileDatastore",
    "azureml.data.data_reference": "DataReference",
    "azureml.data.datapath": "DataPath DataPathComputeBinding",
    "azureml.data.dataset_consumption_config": "DatasetConsumptionConfig",
    "azureml.data.dataset_error_handling": "DatasetExecutionError DatasetValidationError",
    "azureml.data.dataset_factory": "DataType FileDatasetFactory TabularDatasetFactory",
    "azureml.data.dataset_profile_run": "DatasetProfileRun",
    "azureml.data.dataset_type_definitions": "PromoteHeadersBehavior",
    "azureml.data.file_dataset": "FileDataset",
    "azureml.data.output_dataset_config": "OutputFileDatasetConfig",
    "azureml.data.tabular_dataset": "TabularDataset",
    "azureml.exceptions": (
        "AzureMLException UserErrorException ComputeTargetException WebserviceException ActivityFailedException "
        "ExperimentExecutionException WorkspaceException ProjectSystemException ModelNotFoundException ServiceException"
    ),
    "azureml._common.exceptions": "AzureMLException",
    "azureml._restclient.constants": "RunStatus",
    "azureml.monitoring": "ModelDataCollector",
    "azureml.monitoring.modeldatacollector": "ModelDataCollector",
    "azureml.train.dnn": "Chainer Gloo Mpi Nccl ParameterServer PyTorch TensorFlow",
    "azureml.train.estimator": "Estimator Gloo Mpi Nccl ParameterServer",
    "azureml.train.hyperdrive": "BanditPolicy BayesianParameterSampling EarlyTerminationPolicy GridParameterSampling "
    "HyperDriveConfig HyperDriveRun HyperDriveRunConfig HyperParameterSampling MedianStoppingPolicy "
    "NoTerminationPolicy PrimaryMetricGoal RandomParameterSampling TruncationSelectionPolicy choice lognormal "
    "loguniform normal qlognormal qloguniform qnormal quniform randint uniform",
    "azureml.train.hyperdrive.exceptions": "HyperDriveConfigException HyperDriveException "
    "HyperDriveNotImplementedException HyperDriveScenarioNotSupportedException",
    "azureml.train.hyperdrive.parameter_expressions": "choice lognormal loguniform normal qlognormal qloguniform "
    "qnormal quniform randint uniform",
    "azureml.train.hyperdrive.policy": "BanditPolicy EarlyTerminationPolicy MedianStoppingPolicy NoTerminationPolicy "
    "TruncationSelectionPolicy",
    "azureml.train.hyperdrive.run": "HyperDriveRun PrimaryMetricGoal",
    "azureml.train.hyperdrive.runconfig": "HyperDriveConfig HyperDriveRun HyperDriveRunConfig PrimaryMetricGoal",
    "azureml.train.hyperdrive.sampling": "BayesianParameterSampling GridParameterSampling HyperParameterSampling "
    "RandomParameterSampling",
    "azureml.train.sklearn": "SKLearn",
    "azureml.telemetry": "set_diagnostics_collection",
    "azureml.widgets": "RunDetails",
}
PACKAGES = ("core", "compute", "data", "hyperdrive", "image", "monitoring", "steps", "tensorboard", "webservice")
PACKAGE = Path(__file__).parents[3] / "packages" / "azureml" / "src" / "azureml"


@pytest.mark.parametrize("module, name", [(m, n) for m, names in PATHS.items() for n in names.split()])
def test_every_name_is_footplates_own_object(module: str, name: str):
    found = getattr(importlib.import_module(module), name)
    assert found.__module__.startswith("footplate.")


def test_star_import_works():
    names: dict[str, object] = {}
    exec("from azureml.core import *", names)
    assert {*PATHS["azureml.core"].split(), "VERSION"} <= set(names)


def test_every_module_of_the_package_is_listed():
    there = {
        ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for file in PACKAGE.rglob("*.py")
        if file.name != "__init__.py" or file.parent.name in PACKAGES
    }
    assert there == set(PATHS) | set(PARTS)


@pytest.mark.parametrize(
    "statement",
    [
        *(f"import {module}" for module in PARTS),
        "from azureml.interpret import ExplanationClient",
        "from azureml.contrib.fairness import upload_dashboard_dictionary",
        "from azureml.accel.models import QuantizedResnet50",
    ],
)
def test_an_unsupported_module_raises_with_a_hint(statement: str):
    with pytest.raises(ModuleNotFoundError, match=r"is not available: Footplate .*\nhint: "):
        exec(statement)


def test_a_class_is_the_same_object_on_every_path():
    from azureml.core import Run, Workspace
    from azureml.core.compute_target import ComputeTargetException
    from azureml.core.run import Run as SameRun
    from azureml.core.workspace import Workspace as SameWorkspace
    from azureml.exceptions import ComputeTargetException as SameException

    assert (Run, Workspace, ComputeTargetException) == (SameRun, SameWorkspace, SameException)


def test_the_default_images_have_names():
    from azureml.core import environment, runconfig

    for name in ("DEFAULT_CPU_IMAGE", "DEFAULT_GPU_IMAGE"):
        assert isinstance(getattr(runconfig, name), str) and getattr(runconfig, name) == getattr(environment, name)


def test_the_version_is_a_string():
    import azureml.core

    assert isinstance(azureml.core.VERSION, str) and "You are using " + azureml.core.VERSION


def test_a_module_that_was_not_imported_is_an_attribute_error():
    import azureml.core

    with pytest.raises(AttributeError, match="module 'azureml' has no attribute 'explain'"):
        getattr(azureml, "explain")  # noqa: B009  # a type checker knows it, too
    assert {"core", "data", "exceptions"} <= set(dir(azureml))


def test_azureml_is_a_namespace_package():
    spec = importlib.util.find_spec("azureml")
    assert spec is not None and spec.origin is None
    assert not (PACKAGE / "__init__.py").exists()


def test_the_package_contains_no_logic():
    """Only imports, names and constants."""
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
    for file in PACKAGE.rglob("*.py"):
        for statement in ast.parse(file.read_text()).body:
            assert isinstance(statement, allowed), f"{file}:{statement.lineno}"


def test_the_stub_matches_the_names():
    import azureml.core

    stub = ast.parse((PACKAGE / "core" / "__init__.pyi").read_text())
    seen = {alias.asname for s in stub.body if isinstance(s, ast.ImportFrom) for alias in s.names}
    assert seen == set(PATHS["azureml.core"].split()) <= set(dir(azureml.core))


def test_telemetry_and_authentication_are_accepted():
    from azureml.core.authentication import ServicePrincipalAuthentication
    from azureml.telemetry import set_diagnostics_collection

    set_diagnostics_collection(send_diagnostics=True)
    made = ServicePrincipalAuthentication("tenant", "id", service_principal_password="secret")
    assert "secret" not in repr(vars(made))
