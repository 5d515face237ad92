from footplate.sdk.compute.targets import ComputeTarget as ComputeTarget
from footplate.sdk.config.run_configuration import RunConfiguration as RunConfiguration
from footplate.sdk.config.script_run_config import ScriptRunConfig as ScriptRunConfig
from footplate.sdk.data.dataset import Dataset as Dataset
from footplate.sdk.data.datastore import Datastore as Datastore
from footplate.sdk.environments.environment import Environment as Environment
from footplate.sdk.environments.sections import ContainerRegistry as ContainerRegistry
from footplate.sdk.experiment import Experiment as Experiment
from footplate.sdk.keyvault import Keyvault as Keyvault
from footplate.sdk.models.image import Image as Image
from footplate.sdk.models.model import Model as Model
from footplate.sdk.models.webservice import Webservice as Webservice
from footplate.sdk.run import Run as Run
from footplate.sdk.run import ScriptRun as ScriptRun
from footplate.sdk.run import get_run as get_run
from footplate.sdk.workspace import Workspace as Workspace

VERSION: str
__version__: str
