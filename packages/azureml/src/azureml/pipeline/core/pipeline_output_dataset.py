from footplate.sdk.pipelines.data import PipelineOutputFileDataset

__all__ = ["PipelineOutputFileDataset"]
