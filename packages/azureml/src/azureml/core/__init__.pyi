from footplate.sdk.compute import ComputeTarget as ComputeTarget
from footplate.sdk.dataset import Dataset as Dataset
from footplate.sdk.datastore import Datastore as Datastore
from footplate.sdk.environment import Environment as Environment
from footplate.sdk.experiment import Experiment as Experiment
from footplate.sdk.keyvault import Keyvault as Keyvault
from footplate.sdk.model import Model as Model
from footplate.sdk.run import Run as Run
from footplate.sdk.run import get_run as get_run
from footplate.sdk.run_configuration import RunConfiguration as RunConfiguration
from footplate.sdk.script_run import ScriptRun as ScriptRun
from footplate.sdk.script_run_config import ScriptRunConfig as ScriptRunConfig
from footplate.sdk.web_services import Webservice as Webservice
from footplate.sdk.workspace import Workspace as Workspace

VERSION: str
__version__: str
