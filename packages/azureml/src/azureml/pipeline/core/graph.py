from footplate.sdk.pipelines.data import PipelineData, PipelineParameter

__all__ = ["PipelineData", "PipelineParameter"]
