from footplate.sdk.pipelines.pipeline_run import PipelineRun, PortDataReference, StepRun, StepRunOutput

__all__ = ["PipelineRun", "PortDataReference", "StepRun", "StepRunOutput"]
