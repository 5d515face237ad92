from footplate.sdk.data.output_dataset import OutputFileDatasetConfig
from footplate.sdk.pipelines.data import PipelineData, PipelineParameter
from footplate.sdk.pipelines.graph import Pipeline, StepSequence
from footplate.sdk.pipelines.pipeline_run import PipelineRun, PortDataReference, StepRun, StepRunOutput
from footplate.sdk.pipelines.steps import PipelineStep

__all__ = [
    "OutputFileDatasetConfig",
    "Pipeline",
    "PipelineData",
    "PipelineParameter",
    "PipelineRun",
    "PipelineStep",
    "PortDataReference",
    "StepRun",
    "StepRunOutput",
    "StepSequence",
]
