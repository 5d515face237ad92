from footplate.sdk.pipelines.data import PipelineData
from footplate.sdk.pipelines.graph import StepSequence
from footplate.sdk.pipelines.steps import PipelineStep

__all__ = ["PipelineData", "PipelineStep", "StepSequence"]
