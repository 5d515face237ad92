from footplate.sdk.pipelines.graph import Pipeline

__all__ = ["Pipeline"]
