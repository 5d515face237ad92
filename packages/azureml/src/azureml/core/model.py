from __future__ import annotations

from footplate.sdk.models.model import Model
from footplate.sdk.models.web_services import InferenceConfig

__all__ = ["InferenceConfig", "Model"]
