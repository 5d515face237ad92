from footplate.sdk.models.profiling import ModelProfile

__all__ = ["ModelProfile"]
