from footplate.sdk.pipelines.cloud_steps import (
    AdlaStep as AdlaStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    AutoMLStep as AutoMLStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    AzureBatchStep as AzureBatchStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    DatabricksStep as DatabricksStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    DataTransferStep as DataTransferStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    HyperDriveStep as HyperDriveStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    KustoStep as KustoStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    ModuleStep as ModuleStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    NotebookRunnerStep as NotebookRunnerStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    ParallelRunStep as ParallelRunStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    RScriptStep as RScriptStep,
)
from footplate.sdk.pipelines.cloud_steps import (
    SynapseSparkStep as SynapseSparkStep,
)
from footplate.sdk.pipelines.steps import CommandStep, EstimatorStep, MpiStep, PythonScriptStep

__all__ = [
    "CommandStep",
    "EstimatorStep",
    "MpiStep",
    "PythonScriptStep",
]
