"""What type checkers see of the names that `__init__.py` loads when they are first used."""

from footplate.domain.tuning.sweeps import Constraint as Constraint
from footplate.errors import FootplateError as FootplateError
from footplate.sdk.compute.targets import AmlCompute as AmlCompute
from footplate.sdk.compute.targets import ComputeTarget as ComputeTarget
from footplate.sdk.config.run_configuration import DockerConfiguration as DockerConfiguration
from footplate.sdk.config.run_configuration import MpiConfiguration as MpiConfiguration
from footplate.sdk.config.run_configuration import PyTorchConfiguration as PyTorchConfiguration
from footplate.sdk.config.run_configuration import RunConfiguration as RunConfiguration
from footplate.sdk.config.run_configuration import TensorflowConfiguration as TensorflowConfiguration
from footplate.sdk.config.script_run_config import ScriptRunConfig as ScriptRunConfig
from footplate.sdk.data.dataset import Dataset as Dataset
from footplate.sdk.data.datastore import Datastore as Datastore
from footplate.sdk.data.output_dataset import OutputFileDatasetConfig as OutputFileDatasetConfig
from footplate.sdk.data.references import DataReference as DataReference
from footplate.sdk.environments.conda_dependencies import CondaDependencies as CondaDependencies
from footplate.sdk.environments.environment import Environment as Environment
from footplate.sdk.exceptions import ActivityFailedException as ActivityFailedException
from footplate.sdk.exceptions import AzureMLException as AzureMLException
from footplate.sdk.exceptions import ComputeTargetException as ComputeTargetException
from footplate.sdk.exceptions import ExperimentExecutionException as ExperimentExecutionException
from footplate.sdk.exceptions import ModelNotFoundException as ModelNotFoundException
from footplate.sdk.exceptions import ModelPathNotFoundException as ModelPathNotFoundException
from footplate.sdk.exceptions import RunConfigurationException as RunConfigurationException
from footplate.sdk.exceptions import ServiceException as ServiceException
from footplate.sdk.exceptions import SnapshotException as SnapshotException
from footplate.sdk.exceptions import UserErrorException as UserErrorException
from footplate.sdk.exceptions import WebserviceException as WebserviceException
from footplate.sdk.exceptions import WorkspaceException as WorkspaceException
from footplate.sdk.experiment import Experiment as Experiment
from footplate.sdk.models.model import Model as Model
from footplate.sdk.models.resource_configuration import ResourceConfiguration as ResourceConfiguration
from footplate.sdk.run import Run as Run
from footplate.sdk.run import ScriptRun as ScriptRun
from footplate.sdk.tuning.parameter_expressions import when as when
from footplate.sdk.tuning.policy import AshaPolicy as AshaPolicy
from footplate.sdk.tuning.policy import HyperbandPolicy as HyperbandPolicy
from footplate.sdk.tuning.policy import PopulationBasedTraining as PopulationBasedTraining
from footplate.sdk.tuning.sampling import OptunaParameterSampling as OptunaParameterSampling
from footplate.sdk.widgets import RunDetails as RunDetails
from footplate.sdk.workspace import Workspace as Workspace

__version__: str
