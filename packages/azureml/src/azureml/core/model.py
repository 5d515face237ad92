from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.model import Model
from footplate.sdk.models.packaging import ModelPackage

__all__ = ["InferenceConfig", "Model", "ModelPackage"]
