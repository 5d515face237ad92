from __future__ import annotations

from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.model import Model

__all__ = ["InferenceConfig", "Model"]
